import { generateKey, type KeyAlgorithm, type KeyPair } from '../src/index.ts';

const made = new Map<string, KeyPair>();

/** A key of this algorithm, the same one for the same number: an RSA key takes up to a second to make. */
export const keyOf = (algorithm: KeyAlgorithm, number = 1): KeyPair => {
  const name = `${algorithm} ${number}`;
  const key = made.get(name) ?? generateKey(algorithm);
  made.set(name, key);
  return key;
};
