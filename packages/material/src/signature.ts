import { type KeyObject, X509Certificate } from 'node:crypto';
import type { Certificate } from './certificate.ts';

/** What OpenSSL makes of a certificate; undefined when it cannot read it or its key. */
interface Native {
  readonly x509: X509Certificate;
  readonly publicKey: KeyObject;
}

// Certificates are immutable, so what was found out about them holds for as long as they live.
const natives = new WeakMap<Certificate, { readonly native: Native | undefined }>();
const verified = new WeakMap<Certificate, WeakMap<Certificate, boolean>>();

function nativeOf(certificate: Certificate): Native | undefined {
  const known = natives.get(certificate);
  if (known !== undefined) return known.native;
  let native: Native | undefined;
  try {
    const x509 = new X509Certificate(certificate.der);
    native = { x509, publicKey: x509.publicKey };
  } catch {
    native = undefined; // an unknown algorithm or a point that is not on its curve
  }
  natives.set(certificate, { native });
  return native;
}

/** The certificate's public key, or undefined when OpenSSL cannot use it. */
export const publicKeyOf = (certificate: Certificate): KeyObject | undefined =>
  nativeOf(certificate)?.publicKey;

/** Whether the issuer's key made the subject's signature. Each pair of values is computed once. */
export function signedBy(subject: Certificate, issuer: Certificate): boolean {
  let bySubject = verified.get(issuer);
  if (bySubject === undefined) {
    bySubject = new WeakMap();
    verified.set(issuer, bySubject);
  }
  const known = bySubject.get(subject);
  if (known !== undefined) return known;
  const result = check(subject, issuer);
  bySubject.set(subject, result);
  return result;
}

function check(subject: Certificate, issuer: Certificate): boolean {
  const key = publicKeyOf(issuer);
  if (key === undefined) return false;
  try {
    return nativeOf(subject)?.x509.verify(key) ?? false;
  } catch {
    return false;
  }
}
