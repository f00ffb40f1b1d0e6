import { createHash, type KeyObject } from 'node:crypto';
import { CoreError } from '../error.ts';
import { familyOf } from './algorithms.ts';

export interface Span {
  /** Where the contents begin, behind tag and length. */
  readonly start: number;
  readonly end: number;
}

/** The DER value at `offset`. For bytes that node:crypto made or `parseCertificate` accepted: it checks nothing. */
export const spanAt = (der: Uint8Array, offset: number): Span => {
  let length = der[offset + 1] ?? 0;
  let start = offset + 2;
  if (length & 0x80) {
    const octets = length & 0x7f;
    length = 0;
    for (let i = 0; i < octets; i++) length = length * 256 + (der[start + i] ?? 0);
    start += octets;
  }
  return { start, end: start + length };
};

/** The values inside the one at `offset`, each whole, tag included. */
export const membersAt = (der: Uint8Array, offset: number): readonly Uint8Array[] => {
  const outer = spanAt(der, offset);
  const members: Uint8Array[] = [];
  for (let at = outer.start; at < outer.end; ) {
    const { end } = spanAt(der, at);
    members.push(der.subarray(at, end));
    at = end;
  }
  return members;
};

// OpenSSL 3 takes 0.3 ms to encode a key, six times as long as a signature, so a key is encoded once.
const encoded = new WeakMap<KeyObject, Uint8Array>();

/** SubjectPublicKeyInfo, DER. */
export const spkiOf = (publicKey: KeyObject): Uint8Array => {
  const known = encoded.get(publicKey);
  if (known !== undefined) return known;
  if (publicKey.type !== 'public') {
    throw new CoreError(
      'ISSUE_KEY_UNSUPPORTED',
      `a certificate takes a public key, got a ${publicKey.type} one`,
    );
  }
  familyOf(publicKey);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  encoded.set(publicKey, spki);
  return spki;
};

/**
 * RFC 7093 §2 method 1: the leftmost 160 bits of the SHA-256 of the key's BIT STRING. The same length as RFC 5280's
 * method 1 and opaque to verifiers like it, but needs no SHA-1, which hardened builds of OpenSSL turn off.
 */
export function subjectKeyId(publicKey: KeyObject): Uint8Array {
  return keyIdOfSpki(spkiOf(publicKey));
}

export const keyIdOfSpki = (spki: Uint8Array): Uint8Array => {
  const [, bits = new Uint8Array()] = membersAt(spki, 0);
  // The first octet of the contents counts unused bits and is not part of the key.
  const digest = createHash('sha256')
    .update(bits.subarray(spanAt(bits, 0).start + 1))
    .digest();
  return new Uint8Array(digest.subarray(0, 20));
};
