import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { Instant } from '@handover/material';
import { CoreError } from '../error.ts';
import { bitString, explicit, nothing, oid, sequence, time, unsignedInteger } from './der-writer.ts';
import { familyOf, type KeyFamily } from './public-key.ts';
import { serialNumber } from './serial.ts';

interface Signature {
  readonly algorithm: Uint8Array;
  readonly hash: 'sha256' | 'sha384';
}

// RFC 5758 §3.2: the ECDSA identifiers carry no parameters. RFC 4055 §5: the RSA one carries NULL.
const SIGNATURES = {
  P256: { algorithm: sequence(oid('1.2.840.10045.4.3.2')), hash: 'sha256' },
  P384: { algorithm: sequence(oid('1.2.840.10045.4.3.3')), hash: 'sha384' },
  RSA: { algorithm: sequence(oid('1.2.840.113549.1.1.11'), nothing()), hash: 'sha256' },
} as const satisfies Record<KeyFamily, Signature>;

const VERSION_3 = explicit(0, unsignedInteger(Uint8Array.of(2)));

/** The dates a certificate can carry. Whole seconds, both rounded down: neither end moves later than was asked. */
export interface Validity {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

const EARLIEST = Date.UTC(1950, 0, 1); // below, two-digit years mean the next century: RFC 5280 §4.1.2.5.1
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59);

const validityOf = ({ notBefore, notAfter }: Validity): Uint8Array => {
  const [from, to] = [notBefore, notAfter].map((at) => Math.floor(at / 1000) * 1000);
  // Written so that NaN fails it.
  if (from === undefined || to === undefined || !(from >= EARLIEST && from < to && to <= LATEST)) {
    const name = (at: number) => (Math.abs(at) <= LATEST ? new Date(at).toISOString() : String(at));
    throw new CoreError(
      'ISSUE_DATES',
      `a certificate cannot be valid from ${name(notBefore)} to ${name(notAfter)}; ` +
        'it must start before it ends, within its issuer, by at least one second',
    );
  }
  return sequence(time(new Date(from)), time(new Date(to)));
};

export interface ToBeSigned extends Validity {
  readonly serial: Uint8Array;
  /** DER of the two names. The issuer's is copied from its certificate byte for byte: Go compares them so. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly extensions: readonly Uint8Array[];
}

/** Certificate, RFC 5280 §4.1, signed by `key`. */
export const signCertificate = (body: ToBeSigned, key: KeyObject): Uint8Array => {
  const { algorithm, hash } = SIGNATURES[familyOf(key)];
  const tbs = sequence(
    VERSION_3,
    serialNumber(body.serial),
    algorithm,
    body.issuer,
    validityOf(body),
    body.subject,
    body.spki,
    explicit(3, sequence(...body.extensions)),
  );
  return sequence(tbs, algorithm, bitString(sign(hash, tbs, key)));
};

/** A signature by the wrong key would only be found out by the peers: refuse it here. */
export const requireKeyOf = (publicKey: KeyObject, privateKey: KeyObject, whose: string): void => {
  if (privateKey.type !== 'private' || !createPublicKey(privateKey).equals(publicKey)) {
    throw new CoreError(
      'ISSUE_KEY_MISMATCH',
      `the signing key is not the private key of ${whose}; check which generation's key was passed`,
    );
  }
};
