import { createHash, type KeyObject } from 'node:crypto';
import { HandoverError } from '@handover/material';

export type KeyFamily = 'P256' | 'P384' | 'RSA';

/** The family a key belongs to; what peers would not accept is refused here, before it is in anybody's chain. */
export const familyOf = (key: KeyObject): KeyFamily => {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return 'P256';
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'secp384r1') return 'P384';
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= 2048) return 'RSA';
  const got = [key.asymmetricKeyType ?? key.type, namedCurve ?? (modulusLength || '')].join(' ').trim();
  throw new HandoverError(
    'ISSUE_KEY_UNSUPPORTED',
    `no certificate is issued with a key of type ${got}; use ECDSA P-256 or P-384, or RSA of 2048 bits or more`,
  );
};

/** SubjectPublicKeyInfo, DER. */
export const spkiOf = (publicKey: KeyObject): Uint8Array => {
  if (publicKey.type !== 'public') {
    throw new HandoverError(
      'ISSUE_KEY_UNSUPPORTED',
      `a certificate takes a public key, got a ${publicKey.type} one`,
    );
  }
  familyOf(publicKey);
  return publicKey.export({ type: 'spki', format: 'der' });
};

/**
 * RFC 7093 §2 method 1: the leftmost 160 bits of the SHA-256 of the key's BIT STRING. The same length as RFC 5280's
 * method 1 and opaque to verifiers like it, but needs no SHA-1, which hardened builds of OpenSSL turn off.
 */
export function subjectKeyId(publicKey: KeyObject): Uint8Array {
  return keyIdOfSpki(spkiOf(publicKey));
}

export const keyIdOfSpki = (spki: Uint8Array): Uint8Array => {
  const algorithm = contentsAt(spki, contentsAt(spki, 0).start);
  const bits = contentsAt(spki, algorithm.end);
  // The first octet counts unused bits and is not part of the key.
  const digest = createHash('sha256')
    .update(spki.subarray(bits.start + 1, bits.end))
    .digest();
  return new Uint8Array(digest.subarray(0, 20));
};

/** Where the contents of the DER value at `offset` begin and end. Only ever sees what node:crypto exported. */
const contentsAt = (der: Uint8Array, offset: number): { start: number; end: number } => {
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
