import { createHash, createHmac } from 'node:crypto';
import { bytesOf, DER_TAG, DerReader, readOid, readSmallInteger } from '@handover/material';
import { CoreError, isCode } from '../error.ts';
import { decrypt, readIterations, unsupported } from './decrypt.ts';
import type { Password } from './password.ts';
import { PKCS12_OID } from './pkcs12.ts';
import { type Pkcs12Hash, pkcs12Key } from './pkcs12-key.ts';

// RFC 7292: the counterpart of pkcs12.ts, for files of other programs too.

const ENCRYPTED_DATA = '1.2.840.113549.1.7.6';
const PLAIN_KEY_BAG = '1.2.840.113549.1.12.10.1.1';
/** Programs write two or three. Each may ask for many rounds of hashing. */
const MOST_PARTS = 16;
const CONTENT_0 = 0xa0;
const IMPLICIT_0 = 0x80;

const MACS: Readonly<Record<string, Pkcs12Hash>> = {
  '1.3.14.3.2.26': 'sha1',
  [PKCS12_OID.sha256]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};

const checkMac = (from: DerReader, content: Uint8Array, password: Password): void => {
  const digest = from.enter(DER_TAG.sequence, 'digest');
  const algorithm =
    MACS[readOid(digest.enter(DER_TAG.sequence, 'hash'))] ?? unsupported('an unknown hash for its MAC');
  const mac = digest.enter(DER_TAG.octetString, 'MAC').rest();
  const salt = from.enter(DER_TAG.octetString, 'salt').rest();
  const iterations = from.done ? 1 : readIterations(from);
  const key = pkcs12Key(algorithm, 'mac', { text: password.utf16, salt, iterations });
  if (!createHmac(algorithm, key).update(content).digest().equals(mac))
    throw new CoreError('KEYSTORE_PASSWORD', 'the password does not open the keystore; give the right file');
};

/** The SafeContents in a ContentInfo. */
const safeIn = (info: DerReader, password: Password | undefined): Uint8Array => {
  const kind = readOid(info);
  const content = info.enter(CONTENT_0, 'content');
  if (kind === PKCS12_OID.data) return content.enter(DER_TAG.octetString, 'data').rest();
  if (kind !== ENCRYPTED_DATA) return unsupported('encryption with a public key');
  if (password === undefined)
    throw new CoreError(
      'KEYSTORE_PASSWORD',
      'the certificates in the keystore are encrypted; give its password with --password-file',
    );
  const data = content.enter(DER_TAG.sequence, 'encrypted data');
  data.element(); // its version
  const encrypted = data.enter(DER_TAG.sequence, 'encrypted content');
  readOid(encrypted);
  const algorithm = encrypted.enter(DER_TAG.sequence, 'algorithm');
  return decrypt(algorithm, encrypted.enter(IMPLICIT_0, 'encrypted bytes').rest(), password);
};

interface Bag {
  readonly kind: string;
  readonly value: DerReader;
  readonly alias: string | undefined;
  readonly isAnchor: boolean;
}

const bagIn = (safe: DerReader): Bag => {
  const bag = safe.enter(DER_TAG.sequence, 'bag');
  const kind = readOid(bag);
  const value = bag.enter(CONTENT_0, 'value');
  let alias: string | undefined;
  let isAnchor = false;
  const attributes = bag.done ? undefined : bag.enter(DER_TAG.set, 'attributes');
  while (attributes !== undefined && !attributes.done) {
    const attribute = attributes.enter(DER_TAG.sequence, 'attribute');
    const name = readOid(attribute);
    const values = attribute.enter(DER_TAG.set, 'values');
    if (name === PKCS12_OID.trustedKeyUsage) isAnchor = true;
    if (name !== PKCS12_OID.friendlyName || values.peek() !== DER_TAG.bmpString) continue;
    const text = values.element().rest();
    if (text.length % 2 === 0) alias = Buffer.from(text).swap16().toString('utf16le');
  }
  return { kind, value, alias, isAnchor };
};

const readPkcs12: StoreReader = (bytes, password) => {
  const pfx = new DerReader(bytes).enter(DER_TAG.sequence, 'PFX');
  pfx.element(); // its version
  const whole = safeIn(pfx.enter(DER_TAG.sequence, 'content'), password);
  if (password !== undefined && !pfx.done) checkMac(pfx.enter(DER_TAG.sequence, 'MAC'), whole, password);
  const infos = new DerReader(whole).enter(DER_TAG.sequence, 'contents');
  const bags: Bag[] = [];
  for (let parts = 1; !infos.done; parts++) {
    if (parts > MOST_PARTS) return unsupported(`more than ${MOST_PARTS} parts`);
    const safe = new DerReader(safeIn(infos.enter(DER_TAG.sequence, 'content'), password));
    for (const bagsIn = safe.enter(DER_TAG.sequence, 'bags'); !bagsIn.done; ) bags.push(bagIn(bagsIn));
  }
  const keys = bags
    .filter(({ kind }) => kind === PKCS12_OID.keyBag || kind === PLAIN_KEY_BAG)
    .map(({ alias }) => alias);
  const certificates = bags.flatMap(({ kind, value, alias, isAnchor }): ReadStore['certificates'] => {
    if (kind !== PKCS12_OID.certBag) return [];
    const certificate = value.enter(DER_TAG.sequence, 'certificate');
    if (readOid(certificate) !== PKCS12_OID.x509) return [];
    const der = certificate.enter(CONTENT_0, 'value').enter(DER_TAG.octetString, 'certificate').rest();
    // OpenSSL does not mark anchors: `-nokeys` makes a file of nothing else.
    return [{ der, alias, trusted: isAnchor || keys.length === 0 }];
  });
  return { keys, certificates };
};

// As sun.security.provider.JavaKeyStore writes it: the counterpart of jks.ts.

const KEY_ENTRY = 1;
const TRUSTED_ENTRY = 2;
const DIGEST_BYTES = 20;

/** Numbers and texts of `DataOutput`, never past the end. */
class Input {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at)
      throw new CoreError('KEYSTORE_MALFORMED', 'the keystore is cut short; copy the complete file');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  int(): number {
    return this.take(4).readUInt32BE();
  }

  text(): string {
    return this.take(this.take(2).readUInt16BE()).toString();
  }

  certificate(version: number): Buffer {
    if (version > 1 && this.text() !== 'X.509') return unsupported('certificates that are not X.509');
    return this.take(this.int());
  }
}

const readJks: StoreReader = (bytes, password) => {
  const body = bytes.subarray(0, Math.max(0, bytes.length - DIGEST_BYTES));
  if (password !== undefined) {
    const sum = createHash('sha1').update(password.utf16).update(bytesOf('Mighty Aphrodite')).update(body);
    if (!sum.digest().equals(bytes.subarray(body.length)))
      throw new CoreError(
        'KEYSTORE_PASSWORD',
        'the password does not open the keystore, or the file is damaged; give the right file',
      );
  }
  const input = new Input(body);
  input.int(); // FEEDFEED
  const version = input.int();
  const keys: ReadStore['keys'][number][] = [];
  const certificates: ReadStore['certificates'][number][] = [];
  for (let left = input.int(); left > 0; left--) {
    const kind = input.int();
    const alias = input.text();
    input.take(8); // when the entry was made
    if (kind === TRUSTED_ENTRY) {
      certificates.push({ der: input.certificate(version), alias, trusted: true });
      continue;
    }
    if (kind !== KEY_ENTRY) return unsupported('an unknown kind of entry');
    input.take(input.int());
    keys.push(alias);
    for (let behind = input.int(); behind > 0; behind--)
      certificates.push({ der: input.certificate(version), alias, trusted: false });
  }
  return { keys, certificates };
};

/** What a keystore holds, without its keys. */
export interface ReadStore {
  /** Names of private keys. */
  readonly keys: readonly (string | undefined)[];
  readonly certificates: readonly {
    readonly der: Uint8Array;
    readonly alias: string | undefined;
    /** An anchor; else part of a key's chain. */
    readonly trusted: boolean;
  }[];
}

export type StoreFormat = 'pkcs12' | 'jks';
type StoreReader = (bytes: Uint8Array, password: Password | undefined) => ReadStore;

const READERS = { pkcs12: readPkcs12, jks: readJks } as const satisfies Record<StoreFormat, StoreReader>;

const startsWith = (bytes: Uint8Array, hex: string): boolean =>
  Buffer.from(bytes.subarray(0, hex.length / 2)).toString('hex') === hex;

/** A PFX begins with its version, 3, and a ContentInfo; a certificate in DER does not. */
const isPkcs12 = (bytes: Uint8Array): boolean => {
  try {
    const pfx = new DerReader(bytes).enter(DER_TAG.sequence, 'PFX');
    return readSmallInteger(pfx) === 3 && pfx.peek() === DER_TAG.sequence;
  } catch {
    return false; // not DER
  }
};

/** The format of a keystore; undefined: these bytes are none. */
export const storeFormatOf = (bytes: Uint8Array): StoreFormat | undefined => {
  if (startsWith(bytes, 'cececece')) return unsupported('JCEKS');
  if (startsWith(bytes, 'feedfeed')) return 'jks';
  return isPkcs12(bytes) ? 'pkcs12' : undefined;
};

/**
 * Reads a keystore. With a password the whole file is checked against it; without one only what is not encrypted can be read. Private
 * keys are counted, and never decrypted.
 */
export const readStore = (
  format: StoreFormat,
  bytes: Uint8Array,
  password: Password | undefined,
): ReadStore => {
  try {
    return READERS[format](bytes, password);
  } catch (cause) {
    if (!isCode(cause, 'CERTIFICATE_MALFORMED')) throw cause;
    throw new CoreError(
      'KEYSTORE_MALFORMED',
      'the keystore is damaged or cut short; copy the complete file',
      {
        cause,
      },
    );
  }
};
