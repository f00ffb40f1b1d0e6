import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { CoreError } from '../error.ts';
import { familyOf, type KeyFamily, SIGNATURES } from './algorithms.ts';

/** A CA key that signs and is never read: docs/decisions/0407. */
export interface Signer {
  readonly algorithm: KeyFamily;
  readonly publicKey: KeyObject;
  /** A signature over `tbs`, as `SIGNATURES` says for `algorithm`. */
  sign(tbs: Uint8Array): Promise<Uint8Array>;
}

/** Signs with a key in this process. */
export const localSigner = (privateKey: KeyObject): Signer => {
  if (privateKey.type !== 'private')
    throw new CoreError(
      'ISSUE_KEY_UNSUPPORTED',
      `a signer takes a private key, got a ${privateKey.type} one`,
    );
  const algorithm = familyOf(privateKey);
  return {
    algorithm,
    publicKey: createPublicKey(privateKey),
    sign: async (tbs) => sign(SIGNATURES[algorithm].hash, tbs, privateKey),
  };
};
