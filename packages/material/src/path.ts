import { type Certificate, isExpired } from './certificate.ts';
import type { Instant } from './time.ts';

/** OpenSSL's default depth of 100 issuers, and the leaf. */
const MAX_PATH = 101;

/** Whether a key of this algorithm can make such a signature: OpenSSL's check_sig_alg_match. */
function keyFits(key: string, signature: string): boolean {
  if (key.startsWith('RSA-PSS-')) return signature.startsWith('RSA-PSS-');
  if (key.startsWith('RSA-')) return signature.startsWith('RSA-');
  if (key.startsWith('ECDSA-')) return signature.startsWith('ECDSA-');
  return key === signature;
}

/** The AKI's fields, where present, name this issuer: OpenSSL's X509_check_akid. */
const akiMatches = (subject: Certificate, issuer: Certificate): boolean =>
  (subject.authorityKeyId === undefined ||
    issuer.subjectKeyId === undefined ||
    subject.authorityKeyId === issuer.subjectKeyId) &&
  (subject.authoritySerial === undefined || subject.authoritySerial === issuer.serial) &&
  (subject.authorityIssuerKey === undefined || subject.authorityIssuerKey === issuer.issuerKey);

/** Fits as issuer in everything but the signature: OpenSSL's check_issued. */
const mayHaveIssued = (subject: Certificate, issuer: Certificate): boolean =>
  issuer.subjectKey === subject.issuerKey &&
  akiMatches(subject, issuer) &&
  keyFits(issuer.keyAlgorithm, subject.signatureAlgorithm) &&
  issuer.openssl.publicKey !== undefined;

/** Self-signed as OpenSSL counts: by names, not by signature. */
export const isSelfSigned = (certificate: Certificate): boolean =>
  certificate.selfIssued && mayHaveIssued(certificate, certificate);

const isValidAt = (certificate: Certificate, at: Instant): boolean =>
  certificate.notBefore <= at && !isExpired(certificate, at);

/** The first issuer that fits and is valid; otherwise the first of those with the latest end. */
function bestIssuer(
  subject: Certificate,
  candidates: readonly Certificate[],
  at: Instant,
  barred: (candidate: Certificate) => boolean,
): Certificate | undefined {
  let best: Certificate | undefined;
  for (const candidate of candidates) {
    if (!mayHaveIssued(subject, candidate) || barred(candidate)) continue;
    if (isValidAt(candidate, at)) return candidate;
    if (best === undefined || candidate.notAfter > best.notAfter) best = candidate;
  }
  return best;
}

export interface Path {
  readonly certificates: readonly Certificate[];
  /** Number of certificates from the peer; the rest are anchors. */
  readonly untrusted: number;
  /** Ends at a self-signed certificate of the bundle. */
  readonly anchored: boolean;
}

/**
 * Builds the path that OpenSSL 3 builds. Each step looks for an issuer among the anchors first, then among the peer's
 * certificates; after the first anchor, among anchors only. No step is undone. A path is trusted when it ends in a
 * self-signed anchor: without `allowPartialTrustChain` Node does not set X509_V_FLAG_PARTIAL_CHAIN, so an intermediate or
 * leaf alone in `ca` is not enough.
 */
export function buildPath(
  leaf: Certificate,
  intermediates: readonly Certificate[],
  anchors: readonly Certificate[],
  at: Instant,
): Path {
  const path: Certificate[] = [leaf];
  let untrusted = 1;
  let pool: readonly Certificate[] | undefined = intermediates;
  for (let top = leaf; path.length <= MAX_PATH; ) {
    const anchor = bestIssuer(top, anchors, at, () => false);
    if (anchor !== undefined && isSelfSigned(top)) {
      // Only the same bytes are the anchor; another certificate with its name is not.
      if (anchor.fingerprint === top.fingerprint) {
        path[path.length - 1] = anchor;
        return { certificates: path, untrusted: Math.min(untrusted, path.length - 1), anchored: true };
      }
    } else if (anchor !== undefined) {
      path.push(anchor);
      pool = undefined;
      if (isSelfSigned(anchor)) return { certificates: path, untrusted, anchored: true };
      top = anchor;
      continue;
    }
    if (pool === undefined || isSelfSigned(top)) break;
    const selfIssuedLeaf = path.length === 1 && leaf.selfIssued;
    const issuer = bestIssuer(top, pool, at, (candidate) => !selfIssuedLeaf && contains(path, candidate));
    if (issuer === undefined) break;
    pool = pool.filter((candidate) => candidate !== issuer);
    path.push(issuer);
    untrusted++;
    top = issuer;
  }
  return { certificates: path, untrusted, anchored: false };
}

const contains = (path: readonly Certificate[], candidate: Certificate): boolean =>
  path.some(({ fingerprint }) => fingerprint === candidate.fingerprint);
