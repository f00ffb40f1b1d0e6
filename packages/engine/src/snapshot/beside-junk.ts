import { X509Certificate } from 'node:crypto';
import { type Certificate, HandoverError, parseCertificate, parsePem } from '@handover/material';
import { readableCertificates } from './stored-object.ts';

/**
 * Certificates in a bundle that another program made. A block that is no certificate to OpenSSL either is left out, as every
 * verifier has to; one that OpenSSL can read and we cannot may be in use, and makes the whole bundle unreadable.
 */
export const certificatesBesideJunk = (pem: Uint8Array | undefined): readonly Certificate[] => {
  const all = readableCertificates(pem);
  if (all.length > 0 || pem === undefined) return all;
  try {
    const blocks = parsePem(pem).blocks.filter(({ label }) => label === 'CERTIFICATE');
    return blocks.filter(({ der }) => isReadable(der)).map(({ der }) => parseCertificate(der));
  } catch (error) {
    if (error instanceof HandoverError) return [];
    throw error;
  }
};

const isReadable = (der: Uint8Array): boolean => {
  try {
    new X509Certificate(der);
    return true;
  } catch {
    return false; // whatever OpenSSL has against it
  }
};
