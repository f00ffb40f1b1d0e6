import { DER_TAG, DerReader, readSmallInteger } from '@handover/material';
import { CoreError, isCode } from '../error.ts';
import { unsupported } from './decrypt.ts';
import type { Password } from './password.ts';
import { readJks } from './read-jks.ts';
import { readPkcs12 } from './read-pkcs12.ts';

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
export type StoreReader = (bytes: Uint8Array, password: Password | undefined) => ReadStore;

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
