import { createHash, type KeyObject } from 'node:crypto';
import { CoreError } from '../error.ts';
import { familyOf } from './algorithms.ts';
import { membersAt, spanAt } from './der-walk.ts';

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
