import { createHash } from 'node:crypto';
import { bytesOf, type Certificate } from '@handover/material';
import { nothing, octetString, oid, sequence } from '../issue/der-writer.ts';
import type { Password } from './password.ts';
import { keyDer, type StoreWriter, saltsOf } from './store.ts';

// Java's own format until Java 8, as sun.security.provider.JavaKeyStore and KeyProtector read it. It rests on SHA-1: it is here for
// programs that read nothing else.

const MAGIC = 0xfeedfeed;
const VERSION = 2;
const KEY_ENTRY = 1;
const TRUSTED_ENTRY = 2;
const KEY_PROTECTOR = '1.3.6.1.4.1.42.2.17.1.1';

const sha1 = (...parts: readonly Uint8Array[]): Buffer => {
  const sum = createHash('sha1');
  for (const part of parts) sum.update(part);
  return sum.digest();
};

const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const lengthed = (bytes: Uint8Array): Buffer => Buffer.concat([int(bytes.length), bytes]);
/** `DataOutput.writeUTF`: the aliases that a spec may have are ASCII. */
const utf = (text: string): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(text));
  return Buffer.concat([length, Buffer.from(text)]);
};
const x509 = ({ der }: Certificate): Buffer => Buffer.concat([utf('X.509'), lengthed(der)]);
/** When the entry was made; of the certificate, so that the same content gives the same file. */
const date = ({ notBefore }: Certificate): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(notBefore));
  return bytes;
};

/** The key, under a stream of hashes of password and salt. */
const protect = (key: Uint8Array, password: Password, salt: Uint8Array): Uint8Array => {
  const text = password.utf16;
  const hidden = Buffer.alloc(key.length);
  let stream: Uint8Array = salt;
  for (let at = 0; at < key.length; at += 20) {
    stream = sha1(text, stream);
    for (let i = 0; i < 20 && at + i < key.length; i++)
      hidden[at + i] = (key[at + i] ?? 0) ^ (stream[i] ?? 0);
  }
  const sealed = Buffer.concat([salt, hidden, sha1(text, key)]);
  return sequence(sequence(oid(KEY_PROTECTOR), nothing()), octetString(sealed));
};

const entriesOf: (...args: Parameters<StoreWriter>) => readonly Buffer[] = (content, password) => {
  if ('trusted' in content)
    return content.trusted.map(({ alias, certificate }) =>
      Buffer.concat([int(TRUSTED_ENTRY), utf(alias), date(certificate), x509(certificate)]),
    );
  const { alias, key, chain } = content.identity;
  const hidden = protect(keyDer(key), password, saltsOf(content)('jks', 20));
  return [
    Buffer.concat([
      int(KEY_ENTRY),
      utf(alias),
      date(chain[0]),
      lengthed(hidden),
      int(chain.length),
      ...chain.map(x509),
    ]),
  ];
};

/** The same bytes for the same content and password. */
export const writeJks: StoreWriter = (content, password) => {
  const entries = entriesOf(content, password);
  const body = Buffer.concat([int(MAGIC), int(VERSION), int(entries.length), ...entries]);
  return Buffer.concat([body, sha1(password.utf16, bytesOf('Mighty Aphrodite'), body)]);
};
