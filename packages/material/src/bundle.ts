import { hash } from 'node:crypto';
import { type Certificate, readCertificates } from './certificate.ts';
import { MaterialError } from './error.ts';
import type { Junk } from './pem.ts';

/** A CA bundle. Never empty. */
export interface Bundle {
  /** Newest first, without duplicates. */
  readonly certificates: readonly Certificate[];
  /** Hex SHA-256 of the set of certificates, independent of order, comments and line ends of the input. */
  readonly hash: string;
  /** The same bytes for the same certificates in the same order. */
  readonly pem: string;
}

const newestFirst = (a: Certificate, b: Certificate): number =>
  b.notBefore - a.notBefore || (a.fingerprint < b.fingerprint ? -1 : a.fingerprint > b.fingerprint ? 1 : 0);

const canonical = (certificates: readonly Certificate[]): Certificate[] =>
  [...new Map(certificates.map((certificate) => [certificate.fingerprint, certificate])).values()].sort(
    newestFirst,
  );

/** Takes distinct certificates in their final order. */
function assemble(certificates: readonly Certificate[], where = 'bundle'): Bundle {
  if (certificates.length === 0) {
    throw new MaterialError(
      'BUNDLE_EMPTY',
      `${where} holds no certificate; write at least one CA certificate`,
      { path: where },
    );
  }
  const fingerprints = certificates.map(({ fingerprint }) => fingerprint).sort();
  let pem: string | undefined;
  return {
    certificates,
    hash: hash('sha256', fingerprints.join('\n'), 'hex'),
    get pem() {
      pem ??= certificates.map((certificate) => certificate.pem).join('');
      return pem;
    },
  };
}

/** Canonical: newest first, then by fingerprint; equal DER only once. Throws `BUNDLE_EMPTY`. */
export const bundleOf = (certificates: readonly Certificate[]): Bundle => assemble(canonical(certificates));

/**
 * Reads a bundle. Refuses any label but CERTIFICATE (a private key as `PEM_PRIVATE_KEY_IN_BUNDLE`), a bundle with one bad
 * certificate, and a bundle without certificates (`BUNDLE_EMPTY`). Reports text between the blocks as junk.
 */
export function parseBundle(
  pem: string | Uint8Array,
  name = 'bundle',
): Bundle & { readonly junk: readonly Junk[] } {
  const { certificates, junk } = readCertificates(pem, name);
  return Object.assign(assemble(canonical(certificates), name), { junk });
}
