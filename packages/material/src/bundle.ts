import { hash } from 'node:crypto';
import { type Certificate, isExpired, readCertificates } from './certificate.ts';
import { HandoverError } from './error.ts';
import type { Junk } from './pem.ts';
import type { Instant } from './time.ts';

/** Trust anchors as a value. Never empty. */
export interface Bundle {
  /** Newest first, no two alike. */
  readonly certificates: readonly Certificate[];
  /** Hex SHA-256 over the set of certificates: the same whatever the order, comments or line ends it came with. */
  readonly hash: string;
  /** The same bytes for the same certificates in the same order. */
  readonly pem: string;
}

const empty = (where: string): never => {
  throw new HandoverError(
    'BUNDLE_EMPTY',
    `${where} holds no certificate; an empty bundle trusts nobody, or everybody`,
    {
      path: where,
    },
  );
};

const distinct = (certificates: readonly Certificate[]): Certificate[] => {
  const byFingerprint = new Map<string, Certificate>();
  for (const certificate of certificates) {
    if (!byFingerprint.has(certificate.fingerprint)) byFingerprint.set(certificate.fingerprint, certificate);
  }
  return [...byFingerprint.values()];
};

const newestFirst = (a: Certificate, b: Certificate): number =>
  b.notBefore - a.notBefore || (a.fingerprint < b.fingerprint ? -1 : a.fingerprint > b.fingerprint ? 1 : 0);

/** Takes distinct certificates in their final order. */
function assemble(certificates: readonly Certificate[]): Bundle {
  if (certificates.length === 0) empty('bundle');
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

/** Canonical: newest generation first, then by fingerprint; duplicates by DER left out. Throws `BUNDLE_EMPTY`. */
export function bundleOf(certificates: readonly Certificate[]): Bundle {
  return assemble(distinct(certificates).sort(newestFirst));
}

/**
 * Reads a bundle. Any label but CERTIFICATE is refused by name (a private key as `PEM_PRIVATE_KEY_IN_BUNDLE`), one bad
 * certificate refuses the whole, no certificate is `BUNDLE_EMPTY`; text between the blocks is reported as junk.
 */
export function parseBundle(
  pem: string | Uint8Array,
  name = 'bundle',
): Bundle & { readonly junk: readonly Junk[] } {
  const { certificates, junk } = readCertificates(pem, name);
  if (certificates.length === 0) empty(name);
  const bundle = bundleOf(certificates);
  return {
    certificates: bundle.certificates,
    hash: bundle.hash,
    get pem() {
      return bundle.pem;
    },
    junk,
  };
}

/** Leaves out what has expired at `at`. Never empty: when all have, the bundle stays as it is and is called degraded. */
export function unexpired(
  bundle: Bundle,
  at: Instant,
): { bundle: Bundle; dropped: readonly Certificate[]; degraded: boolean } {
  const kept = bundle.certificates.filter((certificate) => !isExpired(certificate, at));
  if (kept.length === 0) return { bundle, dropped: [], degraded: true };
  if (kept.length === bundle.certificates.length) return { bundle, dropped: [], degraded: false };
  const dropped = bundle.certificates.filter((certificate) => isExpired(certificate, at));
  return { bundle: assemble(kept), dropped, degraded: false };
}

/** CAs that only `to` trusts, and CAs that only `from` trusts. */
export function diffBundles(
  from: Bundle | undefined,
  to: Bundle,
): { gained: readonly Certificate[]; lost: readonly Certificate[] } {
  const before = new Set(from?.certificates.map(({ fingerprint }) => fingerprint));
  const now = new Set(to.certificates.map(({ fingerprint }) => fingerprint));
  return {
    gained: to.certificates.filter(({ fingerprint }) => !before.has(fingerprint)),
    lost: (from?.certificates ?? []).filter(({ fingerprint }) => !now.has(fingerprint)),
  };
}
