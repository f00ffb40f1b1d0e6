import { generateKey, issueCa, issueCross, issueLeaf, type KeyPair } from '@handover/core';
import { type Certificate, day, encodePem, instant, parseCertificate } from '@handover/material';
import { NOW } from './capture.ts';

const serial = Uint8Array.from({ length: 16 }, (_, n) => n + 1);

export interface Ca {
  readonly certificate: Certificate;
  readonly key: KeyPair;
}

export const caOf = (generation: number, from = NOW - 100 * day, to = NOW + 1000 * day): Ca => {
  const key = generateKey('ECDSA-P256');
  const dates = { notBefore: instant(from), notAfter: instant(to) };
  return { key, certificate: parseCertificate(issueCa({ name: 'mesh', generation, key, serial, ...dates })) };
};

export const crossOf = (subject: Ca, issuer: Ca): Certificate =>
  parseCertificate(
    issueCross({
      subject: subject.certificate,
      issuer: issuer.certificate,
      issuerKey: issuer.key.privateKey,
      serial,
      notBefore: instant(NOW - day),
      notAfter: instant(NOW + 100 * day),
    }),
  );

export const leafOf = (issuer: Ca, commonName = 'envoy'): Certificate =>
  parseCertificate(
    issueLeaf({
      issuer: issuer.certificate,
      issuerKey: issuer.key.privateKey,
      publicKey: generateKey('ECDSA-P256').publicKey,
      serial,
      subject: { commonName },
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
