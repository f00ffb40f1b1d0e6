import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CoreError } from '../error.ts';

/** No Ed25519: too many TLS peers refuse it. */
export type KeyAlgorithm = 'ECDSA-P256' | 'ECDSA-P384' | 'RSA-2048' | 'RSA-3072' | 'RSA-4096';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/**
 * Where keys come from. Callers hand it in, so that a simulator can deal from a prepared deck. `share`: on whose account, where
 * makers of keys have to take turns.
 */
export type KeySource = (algorithm: KeyAlgorithm, share?: string) => KeyPair | Promise<KeyPair>;

const SIZES = {
  'ECDSA-P256': { namedCurve: 'prime256v1' },
  'ECDSA-P384': { namedCurve: 'secp384r1' },
  'RSA-2048': { modulusLength: 2048 },
  'RSA-3072': { modulusLength: 3072 },
  'RSA-4096': { modulusLength: 4096 },
} as const satisfies Record<KeyAlgorithm, { namedCurve: string } | { modulusLength: number }>;

const sizeOf = (algorithm: KeyAlgorithm): (typeof SIZES)[KeyAlgorithm] => {
  if (Object.hasOwn(SIZES, algorithm)) return SIZES[algorithm];
  throw new CoreError(
    'ISSUE_KEY_UNSUPPORTED',
    `key algorithm ${JSON.stringify(algorithm)} is not one of ${Object.keys(SIZES).join(', ')}`,
  );
};

/**
 * Here, and in `generateKeyAside`, this package draws entropy. Nothing here calls them: whoever wires things together passes
 * one on as a `KeySource`, so planning and issuing stay functions of their arguments.
 */
export function generateKey(algorithm: KeyAlgorithm): KeyPair {
  const size = sizeOf(algorithm);
  return 'namedCurve' in size ? generateKeyPairSync('ec', size) : generateKeyPairSync('rsa', size);
}

/** The same on a thread of its own: an RSA key of 4,096 bits takes seconds, in which a process has to answer others. */
export async function generateKeyAside(algorithm: KeyAlgorithm): Promise<KeyPair> {
  const size = sizeOf(algorithm);
  return new Promise((resolve, reject) => {
    const made = (error: Error | null, publicKey: KeyObject, privateKey: KeyObject): void => {
      if (error === null) resolve({ publicKey, privateKey });
      else reject(error);
    };
    if ('namedCurve' in size) generateKeyPair('ec', size, made);
    else generateKeyPair('rsa', size, made);
  });
}
