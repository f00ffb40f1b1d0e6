import { type KeyObject, verify } from 'node:crypto';
import { type Instant, iso } from '@handover/material';
import { CoreError } from '../error.ts';
import { SIGNATURES } from './algorithms.ts';
import { bitString, explicit, sequence, time, unsignedInteger } from './der-writer.ts';
import type { Signer } from './signer.ts';

/**
 * A certificate's serial number from random bytes: positive, never zero, at most 20 octets as encoded (RFC 5280
 * §4.1.2.2). At least 8 bytes come in and all their 64 bits stay: a set top bit costs a leading zero octet, and only
 * a full 20 bytes lose it instead.
 */
export const serialNumber = (random: Uint8Array): Uint8Array => {
  if (random.length < 8 || random.length > 20) {
    throw new CoreError('ISSUE_SERIAL', `a serial number takes 8 to 20 random bytes, got ${random.length}`);
  }
  if (random.every((byte) => byte === 0)) {
    throw new CoreError('ISSUE_SERIAL', 'a serial number cannot be zero; pass random bytes');
  }
  if (random.length < 20) return unsignedInteger(random);
  const positive = Uint8Array.from(random);
  positive[0] = (positive[0] ?? 0) & 0x7f;
  return unsignedInteger(positive);
};

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
    const name = (at: number) => (Math.abs(at) <= LATEST ? iso(at) : String(at));
    throw new CoreError(
      'ISSUE_DATES',
      `a certificate cannot be valid from ${name(notBefore)} to ${name(notAfter)}; ` +
        'it must start before it ends, within its issuer, by at least one second',
    );
  }
  return sequence(time(new Date(from)), time(new Date(to)));
};

export interface Body extends Validity {
  readonly serial: Uint8Array;
  /** DER of the two names. The issuer's is copied from its certificate byte for byte: Go compares them so. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly extensions: readonly Uint8Array[];
}

/** A certificate that lacks nothing but the signature over `tbs`. */
export interface Unsigned {
  readonly tbs: Uint8Array;
  readonly signer: Signer;
  /** The CA that signs it, for messages. */
  readonly by: string;
}

const mismatch = (by: string): never => {
  throw new CoreError(
    'ISSUE_KEY_MISMATCH',
    `the signing key is not the private key of ${by}; check which generation's key was passed`,
  );
};

/** TBSCertificate, RFC 5280 §4.1, for the CA that holds `publicKey`. */
export const unsigned = (body: Body, signer: Signer, publicKey: KeyObject, by: string): Unsigned => {
  if (!signer.publicKey.equals(publicKey)) mismatch(by);
  const tbs = sequence(
    VERSION_3,
    serialNumber(body.serial),
    SIGNATURES[signer.algorithm].identifier,
    body.issuer,
    validityOf(body),
    body.subject,
    body.spki,
    explicit(3, sequence(...body.extensions)),
  );
  return { tbs, signer, by };
};

// Verifying costs more than twice what signing does (P-256: 92 and 38 µs), so the first signature of a signer stands for the rest.
const proven = new WeakSet<Signer>();

/** Certificate, DER. A signer that is mistaken about its key is found out here, before peers would be the first to notice. */
export const signedWith = ({ tbs, signer, by }: Unsigned, signature: Uint8Array): Uint8Array => {
  const { identifier, hash } = SIGNATURES[signer.algorithm];
  if (!proven.has(signer) && !verify(hash, tbs, signer.publicKey, signature)) mismatch(by);
  proven.add(signer);
  return sequence(tbs, identifier, bitString(signature));
};

export const signed = async (certificate: Unsigned): Promise<Uint8Array> =>
  signedWith(certificate, await certificate.signer.sign(certificate.tbs));
