import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { HandoverError } from '@handover/material';

/** No Ed25519: too many TLS peers refuse it. */
export type KeyAlgorithm = 'ECDSA-P256' | 'ECDSA-P384' | 'RSA-2048' | 'RSA-3072' | 'RSA-4096';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Where keys come from. Callers hand it in, so that a simulator can deal from a prepared deck. */
export type KeySource = (algorithm: KeyAlgorithm) => KeyPair;

const GENERATE = {
  'ECDSA-P256': () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  'ECDSA-P384': () => generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
  'RSA-2048': () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'RSA-3072': () => generateKeyPairSync('rsa', { modulusLength: 3072 }),
  'RSA-4096': () => generateKeyPairSync('rsa', { modulusLength: 4096 }),
} as const satisfies Record<KeyAlgorithm, () => KeyPair>;

/**
 * The one place in this package that draws entropy. Nothing here calls it: whoever wires things together passes it on
 * as a `KeySource`, so planning and issuing stay functions of their arguments.
 */
export function generateKey(algorithm: KeyAlgorithm): KeyPair {
  if (!Object.hasOwn(GENERATE, algorithm)) {
    throw new HandoverError(
      'ISSUE_KEY_UNSUPPORTED',
      `key algorithm ${JSON.stringify(algorithm)} is not one of ${Object.keys(GENERATE).join(', ')}`,
    );
  }
  return GENERATE[algorithm]();
}
