import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CoreError } from '../error.ts';
import { KEYS, type KeyAlgorithm } from './algorithms.ts';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/**
 * Where keys come from. Callers hand it in, so that a simulator can deal from a prepared deck. `share`: the namespace that a key
 * counts for, where makers of keys have to take turns.
 */
export type KeySource = (algorithm: KeyAlgorithm, share?: string) => KeyPair | Promise<KeyPair>;

const sizeOf = (algorithm: KeyAlgorithm): (typeof KEYS)[KeyAlgorithm]['size'] => {
  if (Object.hasOwn(KEYS, algorithm)) return KEYS[algorithm].size;
  throw new CoreError(
    'ISSUE_KEY_UNSUPPORTED',
    `key algorithm ${JSON.stringify(algorithm)} is not one of ${Object.keys(KEYS).join(', ')}`,
  );
};

/**
 * Here, and in `generateKeyAside`, this package draws entropy. Nothing here calls them: a home passes one on as a `KeySource`, so
 * planning and issuing stay functions of their arguments.
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
