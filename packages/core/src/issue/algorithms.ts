import type { KeyObject } from 'node:crypto';
import { CoreError } from '../error.ts';
import { nothing, oid, sequence } from './der-writer.ts';

/** What a key of one family signs with. RFC 5758 §3.2: ECDSA carries no parameters. RFC 4055 §5: RSA carries NULL. */
export const SIGNATURES = {
  P256: { identifier: sequence(oid('1.2.840.10045.4.3.2')), hash: 'sha256' },
  P384: { identifier: sequence(oid('1.2.840.10045.4.3.3')), hash: 'sha384' },
  RSA: { identifier: sequence(oid('1.2.840.113549.1.1.11'), nothing()), hash: 'sha256' },
} as const;

export type KeyFamily = keyof typeof SIGNATURES;

/** Keys that can be asked for, as node:crypto makes them. No Ed25519: too many TLS peers refuse it. */
export const KEYS = {
  'ECDSA-P256': { family: 'P256', size: { namedCurve: 'prime256v1' } },
  'ECDSA-P384': { family: 'P384', size: { namedCurve: 'secp384r1' } },
  'RSA-2048': { family: 'RSA', size: { modulusLength: 2048 } },
  'RSA-3072': { family: 'RSA', size: { modulusLength: 3072 } },
  'RSA-4096': { family: 'RSA', size: { modulusLength: 4096 } },
} as const satisfies Record<string, { family: KeyFamily; size: object }>;

export type KeyAlgorithm = keyof typeof KEYS;

const SMALLEST_RSA = KEYS['RSA-2048'].size.modulusLength;

/** The family of a key, public or private. Keys that peers would not accept are refused here, before they are in a chain. */
export const familyOf = (key: KeyObject): KeyFamily => {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const known = Object.values(KEYS).find(
    ({ size }) => 'namedCurve' in size && size.namedCurve === namedCurve && key.asymmetricKeyType === 'ec',
  );
  if (known !== undefined) return known.family;
  // An adopted CA may have any size.
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= SMALLEST_RSA) return 'RSA';
  const got = [key.asymmetricKeyType ?? key.type, namedCurve ?? (modulusLength || '')].join(' ').trim();
  throw new CoreError(
    'ISSUE_KEY_UNSUPPORTED',
    `no certificate is issued with a key of type ${got}; use ECDSA P-256 or P-384, or RSA of 2048 bits or more`,
  );
};

/** The algorithm of a key that another program made; undefined: no certificate is issued for such a key. */
export const keyAlgorithmOf = (key: KeyObject): KeyAlgorithm | undefined => {
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
  const found = Object.entries(KEYS).find(([, { size }]) =>
    'namedCurve' in size
      ? key.asymmetricKeyType === 'ec' && size.namedCurve === namedCurve
      : key.asymmetricKeyType === 'rsa' && size.modulusLength === modulusLength,
  );
  return found?.[0] as KeyAlgorithm | undefined;
};
