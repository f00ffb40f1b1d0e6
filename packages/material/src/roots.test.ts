import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { parseBundle, parseCertificates } from './index.ts';

describe('the public roots that Node ships', () => {
  const { certificates } = parseCertificates(rootCertificates.join('\n'));

  it('the public roots that Node ships are all read, and read as OpenSSL reads them', () => {
    expect(certificates).toHaveLength(rootCertificates.length);
    for (const [i, pem] of rootCertificates.entries()) {
      const theirs = new X509Certificate(pem);
      const ours = certificates[i];
      expect(ours?.fingerprint).toBe(theirs.fingerprint256.replaceAll(':', '').toLowerCase());
      expect(ours?.serial).toBe(theirs.serialNumber.toLowerCase().replace(/^0+(?=.)/, ''));
      expect(ours?.notBefore).toBe(Date.parse(theirs.validFrom));
      expect(ours?.notAfter).toBe(Date.parse(theirs.validTo));
      expect(ours?.isCa).toBe(theirs.ca);
      expect(ours?.selfIssued).toBe(theirs.subject === theirs.issuer);
      expect(new X509Certificate(ours?.pem ?? '').raw.equals(theirs.raw)).toBe(true);
      const commonName = /^CN=(.*)$/m.exec(theirs.subject)?.[1];
      if (commonName !== undefined && !/[\\,+]/.test(commonName))
        expect(ours?.subject).toContain(`CN=${commonName}`);
    }
  });

  it('the public roots that Node ships make a bundle whose text is stable', () => {
    const bundle = parseBundle(rootCertificates.join('\n'));
    expect(parseBundle(bundle.pem).pem).toBe(bundle.pem);
    expect(parseBundle(bundle.pem).hash).toBe(bundle.hash);
  });
});
