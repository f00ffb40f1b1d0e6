import { createHash, type KeyObject } from 'node:crypto';
import { CoreError } from '../error.ts';
import { membersAt, spanAt } from './der-walk.ts';

export type KeyFamily = 'P256' | 'P384' | 'RSA';

/** The family a key belongs to; what peers would not accept is refused here, before it is in anybody's chain. */
export const familyOf = (key: KeyObject): KeyFamily => {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return 'P256';
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'secp384r1') return 'P384';
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= 2048) return 'RSA';
  const got = [key.asymmetricKeyType ?? key.type, namedCurve ?? (modulusLength || '')].join(' ').trim();
  throw new CoreError(
    'ISSUE_KEY_UNSUPPORTED',
    `no certificate is issued with a key of type ${got}; use ECDSA P-256 or P-384, or RSA of 2048 bits or more`,
  );
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
