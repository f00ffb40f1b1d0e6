import { type Certificate, isExpired } from './certificate.ts';
import { checkNames } from './name-constraints.ts';
import { buildPath, isSelfSigned, type Path } from './path.ts';
import { caStanding, issuesForPurpose, type Purpose, servesPurpose } from './purpose.ts';
import type { Instant } from './time.ts';

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
