import { generateKey, issueCa, issueCross, issueLeaf, type KeyPair, localSigner } from '@handover/core';
import { type Certificate, day, encodePem, instant, parseCertificate } from '@handover/material';
import { NOW } from './capture.ts';

const serial = Uint8Array.from({ length: 16 }, (_, n) => n + 1);

export interface Ca {
  readonly certificate: Certificate;
  readonly key: KeyPair;
}

export const caOf = async (
  generation: number,
  from = NOW - 100 * day,
  to = NOW + 1000 * day,
): Promise<Ca> => {
  const key = generateKey('ECDSA-P256');
  const dates = { notBefore: instant(from), notAfter: instant(to) };
  const signer = localSigner(key.privateKey);
  const der = await issueCa({ name: 'mesh', generation, signer, serial, ...dates });
  return { key, certificate: parseCertificate(der) };
};

export const crossOf = async (subject: Ca, issuer: Ca): Promise<Certificate> =>
  parseCertificate(
    await issueCross({
      subject: subject.certificate,
      issuer: issuer.certificate,
      signer: localSigner(issuer.key.privateKey),
      serial,
      notBefore: instant(NOW - day),
      notAfter: instant(NOW + 100 * day),
    }),
  );

export const leafOf = async (issuer: Ca, commonName: string | null = 'envoy'): Promise<Certificate> =>
  parseCertificate(
    await issueLeaf({
      issuer: issuer.certificate,
      signer: localSigner(issuer.key.privateKey),
      publicKey: generateKey('ECDSA-P256').publicKey,
      serial,
      subject: commonName === null ? {} : { commonName },
      dnsNames: ['envoy.mesh.svc'],
      ipAddresses: ['10.0.0.1'],
      uris: [],
      usages: ['server', 'client'],
      notBefore: instant(NOW - day),
      notAfter: instant(NOW + 90 * day),
    }),
  );

export const pems = (...certificates: readonly Certificate[]): string =>
  certificates.map(({ pem }) => pem).join('');

export const keyPem = ({ key }: Ca): string =>
  encodePem('PRIVATE KEY', key.privateKey.export({ type: 'pkcs8', format: 'der' }));
