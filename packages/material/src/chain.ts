import { type Certificate, isExpired } from './certificate.ts';
import { checkNames } from './name-constraints.ts';
import type { Instant } from './time.ts';

export type Purpose = 'server' | 'client';

// nsCertType bits, as OpenSSL still honours them
const NETSCAPE = { client: 0x80, server: 0x40, sslCa: 0x04, anyCa: 0x07 } as const;

/** Server Gated Cryptography counts as server use in OpenSSL: Microsoft's and Netscape's OID. */
const SERVER_USAGES: readonly string[] = ['serverAuth', '1.3.6.1.4.1.311.10.3.3', '2.16.840.1.113730.4.1'];
const CLIENT_USAGES: readonly string[] = ['clientAuth'];

const SERVER_KEY_USAGES: readonly string[] = ['digitalSignature', 'keyEncipherment', 'keyAgreement'];
const CLIENT_KEY_USAGES: readonly string[] = ['digitalSignature', 'keyAgreement'];

/** A missing list allows everything; anyExtendedKeyUsage alone allows nothing, as in OpenSSL. */
const allows = (usages: readonly string[] | undefined, wanted: readonly string[]): boolean =>
  usages === undefined || usages.some((usage) => wanted.includes(usage));

const CERT_SIGN: readonly string[] = ['keyCertSign'];
const maySign = (certificate: Certificate): boolean => allows(certificate.keyUsage, CERT_SIGN);

/**
 * Whether it is a CA: `yes` by basicConstraints; `legacy` by signs that OpenSSL accepts only of a trust anchor (a
 * self-signed version 1 certificate, keyCertSign without basicConstraints, a Netscape CA type).
 */
function caStanding(certificate: Certificate): 'yes' | 'legacy' | 'no' {
  if (!maySign(certificate)) return 'no';
  if (certificate.hasBasicConstraints) return certificate.isCa ? 'yes' : 'no';
  if (certificate.version === 1) return 'legacy';
  if (certificate.keyUsage !== undefined) return 'legacy';
  return ((certificate.netscapeCertType ?? 0) & NETSCAPE.anyCa) !== 0 ? 'legacy' : 'no';
}

/** Whether the leaf's usages allow the purpose. */
function servesPurpose(certificate: Certificate, purpose: Purpose): boolean {
  const { netscapeCertType: netscape } = certificate;
  return (
    issuesForPurpose(certificate, purpose) &&
    allows(certificate.keyUsage, purpose === 'server' ? SERVER_KEY_USAGES : CLIENT_KEY_USAGES) &&
    (netscape === undefined || (netscape & NETSCAPE[purpose]) !== 0)
  );
}

/** Whether a CA's extended usages allow the purpose for its certificates; a trust anchor's count too. */
const issuesForPurpose = (certificate: Certificate, purpose: Purpose): boolean =>
  allows(certificate.extendedKeyUsage, purpose === 'server' ? SERVER_USAGES : CLIENT_USAGES);

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
const isSelfSigned = (certificate: Certificate): boolean =>
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
function buildPath(
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

/** `code` is Node's `error.code` for the same failure; `depth` counts from the leaf. */
export type Verdict =
  | { readonly ok: true; readonly path: readonly Certificate[] }
  | { readonly ok: false; readonly code: string; readonly reason: string; readonly depth: number };

const refuse = (code: string, depth: number, reason: string): Verdict => ({ ok: false, code, reason, depth });

/**
 * Gives the verdict of OpenSSL 3, and so of Node with `ca: anchors`, on a peer that shows `chain` at the instant `at`.
 * `chain[0]` is the leaf; the rest may come in any order. Does not check host names, nor revocation and policies, which
 * Node's defaults do not check either.
 */
export function verifyChain(input: {
  readonly chain: readonly Certificate[];
  readonly anchors: readonly Certificate[];
  readonly at: Instant;
  readonly purpose: Purpose;
}): Verdict {
  const [leaf, ...intermediates] = input.chain;
  if (leaf === undefined) return refuse('CHAIN_EMPTY', 0, 'no certificate was shown');
  const path = buildPath(leaf, intermediates, input.anchors, input.at);
  return (
    checkAnchored(path) ??
    checkExtensions(path.certificates, input.purpose) ??
    checkStrength(path.certificates) ??
    checkSignaturesAndTimes(path.certificates, input.at) ??
    checkConstraints(path.certificates) ?? { ok: true, path: path.certificates }
  );
}

/** A certificate's name for people. RFC 5280 4.1.2.6: the subject may be empty where the certificate has other names. */
export const nameOf = ({ subject, dnsNames, ipAddresses, uris, emails }: Certificate): string => {
  const [name] = [...dnsNames, ...ipAddresses, ...uris, ...emails];
  return subject || (name === undefined ? 'a certificate without a name' : `the certificate of ${name}`);
};

function checkAnchored({ certificates, untrusted, anchored }: Path): Verdict | undefined {
  if (anchored) return undefined;
  const depth = certificates.length - 1;
  const top = certificates[depth];
  if (top === undefined) return undefined;
  if (depth > 100) return refuse('CERT_CHAIN_TOO_LONG', depth, 'the path has more than 100 issuers');
  if (isSelfSigned(top)) {
    return depth === 0
      ? refuse('DEPTH_ZERO_SELF_SIGNED_CERT', 0, `self-signed ${nameOf(top)} is not in the bundle`)
      : refuse('SELF_SIGNED_CERT_IN_CHAIN', depth, `root ${nameOf(top)} is not in the bundle`);
  }
  const code =
    untrusted < certificates.length ? 'UNABLE_TO_GET_ISSUER_CERT' : 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY';
  const whose = depth === 0 ? "the leaf's issuer" : `the issuer of ${nameOf(top)}`;
  return refuse(code, depth, `${whose}, ${top.issuer}, is not in the bundle`);
}

function checkExtensions(path: readonly Certificate[], purpose: Purpose): Verdict | undefined {
  let issuersBelow = 0;
  for (const [depth, certificate] of path.entries()) {
    const { pathLength } = certificate;
    const name = nameOf(certificate);
    const isTop = depth === path.length - 1;
    if (certificate.unknownCritical.length > 0) {
      const oids = certificate.unknownCritical.join(', ');
      return refuse('UNHANDLED_CRITICAL_EXTENSION', depth, `${name} has critical extension ${oids}`);
    }
    if (certificate.isProxy) {
      return refuse('PROXY_CERTIFICATES_NOT_ALLOWED', depth, `${name} is a proxy certificate`);
    }
    if (depth > 0) {
      const standing = caStanding(certificate);
      if (standing === 'no' || (standing === 'legacy' && !isTop)) {
        return refuse('INVALID_CA', depth, `${name} is not a CA`);
      }
    }
    if (path.length > 1 && certificate.keyAlgorithm === 'ECDSA-explicit') {
      return refuse('EC_KEY_EXPLICIT_PARAMS', depth, `${name} has a key on an unnamed curve`);
    }
    const fits = depth === 0 ? servesPurpose(certificate, purpose) : issuesForPurpose(certificate, purpose);
    if (!fits) return refuse('INVALID_PURPOSE', depth, `${name} is not for TLS ${purpose}s`);
    if (depth > 1 && pathLength !== undefined && issuersBelow > pathLength) {
      return refuse(
        'PATH_LENGTH_EXCEEDED',
        depth,
        `the path length of ${name} is ${pathLength}, and ${issuersBelow} CAs are below it`,
      );
    }
    if (depth > 0 && !certificate.selfIssued) issuersBelow++;
  }
  return undefined;
}

/** Security level 1, Node's default: keys of 80 bits (RSA-1024, 160-bit curves); SHA-1 and MD5 only on the anchor. */
function checkStrength(path: readonly Certificate[]): Verdict | undefined {
  for (const [depth, certificate] of path.entries()) {
    const { keyAlgorithm, signatureAlgorithm } = certificate;
    const name = nameOf(certificate);
    const rsaBits = /^RSA-(?:PSS-)?(\d+)$/.exec(keyAlgorithm)?.[1];
    if (certificate.openssl.publicKey === undefined || (rsaBits !== undefined && Number(rsaBits) < 1024)) {
      const code = depth === 0 ? 'EE_KEY_TOO_SMALL' : 'CA_KEY_TOO_SMALL';
      return refuse(code, depth, `the ${keyAlgorithm} key of ${name} is too weak or cannot be used`);
    }
    if (depth < path.length - 1 && /-(SHA1|MD5)$/.test(signatureAlgorithm)) {
      return refuse('CA_MD_TOO_WEAK', depth, `${name} is signed with ${signatureAlgorithm}`);
    }
  }
  return undefined;
}

/** From the anchor down. Checks the anchor's dates, but not its own signature, which proves nothing. */
function checkSignaturesAndTimes(path: readonly Certificate[], at: Instant): Verdict | undefined {
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const certificate = path[depth];
    const issuer = path[depth + 1];
    if (certificate === undefined) continue;
    const name = nameOf(certificate);
    if (issuer !== undefined && !certificate.openssl.isSignedBy(issuer.openssl)) {
      const reason = `the key of ${nameOf(issuer)} did not sign ${name}`;
      return refuse('CERT_SIGNATURE_FAILURE', depth, reason);
    }
    if (certificate.notBefore > at) return refuse('CERT_NOT_YET_VALID', depth, `${name} is not valid yet`);
    if (isExpired(certificate, at)) return refuse('CERT_HAS_EXPIRED', depth, `${name} has expired`);
  }
  return undefined;
}

function checkConstraints(path: readonly Certificate[]): Verdict | undefined {
  if (path.every(({ nameConstraints }) => nameConstraints === undefined)) return undefined;
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const certificate = path[depth];
    if (certificate === undefined || (depth > 0 && certificate.selfIssued)) continue;
    for (let above = path.length - 1; above > depth; above--) {
      const issuer = path[above];
      if (issuer?.nameConstraints === undefined) continue;
      const verdict = checkNames(certificate, issuer.nameConstraints, depth === 0);
      if (verdict !== 'OK') {
        return refuse(verdict, depth, `${nameOf(issuer)} may not certify a name of ${nameOf(certificate)}`);
      }
    }
  }
  return undefined;
}
