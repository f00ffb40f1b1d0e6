import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { partsOf } from '../servers/known-texts.ts';

type Key = string | Buffer | { readonly pem: string | Buffer; readonly passphrase?: string };

/** The keys of an option that belong to none of these certificates. `node:tls` takes keys in any order. */
export function keysBeside(
  certs: readonly unknown[],
  { key, passphrase: shared }: SecureContextOptions,
): readonly unknown[] {
  const leaves = certs.map((cert) => new X509Certificate(cert as string | Buffer));
  return partsOf(key).filter((given) => {
    const part = given as Key;
    const { pem, passphrase = shared } =
      typeof part === 'object' && 'pem' in part ? part : { pem: part, passphrase: shared };
    try {
      const own = createPrivateKey({ key: pem, ...(passphrase === undefined ? {} : { passphrase }) });
      return !leaves.some((leaf) => leaf.checkPrivateKey(own));
    } catch {
      return true; // for `node:tls` to refuse
    }
  });
}
