import { type Certificate, isExpired } from './certificate.ts';
import type { Instant } from './time.ts';

/** Longest path that is built: OpenSSL's default depth of 100 issuers, and the leaf. */
const MAX_PATH = 101;

/** Whether a key of this kind can have made a signature of that: OpenSSL's check_sig_alg_match. */
function keyFits(key: string, signature: string): boolean {
  if (key.startsWith('RSA-PSS-')) return signature.startsWith('RSA-PSS-');
  if (key.startsWith('RSA-')) return signature.startsWith('RSA-');
  if (key.startsWith('ECDSA-')) return signature.startsWith('ECDSA-');
  return key === signature;
}

/** The AKI names this certificate, as far as it says anything: OpenSSL's X509_check_akid. */
const akiMatches = (subject: Certificate, issuer: Certificate): boolean =>
  (subject.authorityKeyId === undefined ||
    issuer.subjectKeyId === undefined ||
    subject.authorityKeyId === issuer.subjectKeyId) &&
  (subject.authoritySerial === undefined || subject.authoritySerial === issuer.serial) &&
  (subject.authorityIssuerKey === undefined || subject.authorityIssuerKey === issuer.issuerKey);

/** May have issued it, by everything but the signature: OpenSSL's check_issued. */
const mayHaveIssued = (subject: Certificate, issuer: Certificate): boolean =>
  issuer.subjectKey === subject.issuerKey &&
  akiMatches(subject, issuer) &&
  keyFits(issuer.keyAlgorithm, subject.signatureAlgorithm) &&
  issuer.openssl.publicKey !== undefined;

/** What OpenSSL calls self-signed: by its names, not by its signature. */
export const isSelfSigned = (certificate: Certificate): boolean =>
  certificate.selfIssued && mayHaveIssued(certificate, certificate);

const isValidAt = (certificate: Certificate, at: Instant): boolean =>
  certificate.notBefore <= at && !isExpired(certificate, at);

/** The first candidate that is valid now; else, of those that fit, the first with the latest end. */
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
  /** How many of them came from the peer; the rest are anchors. */
  readonly untrusted: number;
  /** It ends at a self-signed certificate of the bundle. */
  readonly anchored: boolean;
}

/**
 * Builds the one path that OpenSSL 3 builds: at each step an issuer among the anchors first, then among what the peer sent;
 * once an anchor is on the path, anchors only. It never goes back on a choice. A path is trusted when it ends in a
 * self-signed anchor: Node does not set X509_V_FLAG_PARTIAL_CHAIN unless asked (`allowPartialTrustChain`), so that an
 * intermediate or a leaf alone in `ca` is not enough.
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
      // Another certificate with the anchor's name is not the anchor: only the same bytes are.
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
