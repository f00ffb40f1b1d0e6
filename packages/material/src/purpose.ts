import type { Certificate } from './certificate.ts';

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
export function caStanding(certificate: Certificate): 'yes' | 'legacy' | 'no' {
  if (!maySign(certificate)) return 'no';
  if (certificate.hasBasicConstraints) return certificate.isCa ? 'yes' : 'no';
  if (certificate.version === 1) return 'legacy';
  if (certificate.keyUsage !== undefined) return 'legacy';
  return ((certificate.netscapeCertType ?? 0) & NETSCAPE.anyCa) !== 0 ? 'legacy' : 'no';
}

/** Whether the leaf's usages allow the purpose. */
export function servesPurpose(certificate: Certificate, purpose: Purpose): boolean {
  const { netscapeCertType: netscape } = certificate;
  return (
    issuesForPurpose(certificate, purpose) &&
    allows(certificate.keyUsage, purpose === 'server' ? SERVER_KEY_USAGES : CLIENT_KEY_USAGES) &&
    (netscape === undefined || (netscape & NETSCAPE[purpose]) !== 0)
  );
}

/** Whether a CA's extended usages allow the purpose for its certificates; a trust anchor's count too. */
export const issuesForPurpose = (certificate: Certificate, purpose: Purpose): boolean =>
  allows(certificate.extendedKeyUsage, purpose === 'server' ? SERVER_USAGES : CLIENT_USAGES);
