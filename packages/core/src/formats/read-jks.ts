import { createHash } from 'node:crypto';
import { bytesOf } from '@handover/material';
import { CoreError } from '../error.ts';
import { unsupported } from './decrypt.ts';
import type { ReadStore, StoreReader } from './read-store.ts';

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

export const readJks: StoreReader = (bytes, password) => {
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
