import { issueCa, issueCross, issueLeaf, type KeySource } from '@handover/core';
import { PrivateKey, parseCertificate } from '@handover/material';
import type { Issuer } from '../look/home.ts';

/** Signs in this process, with keys that it makes itself. */
export const localIssuer = (keys: KeySource, random: (bytes: number) => Uint8Array): Issuer => ({
  ca: async ({ key: algorithm, namespace, ...asked }) => {
    const key = await keys(algorithm, namespace);
    const der = issueCa({ ...asked, key, serial: random(16) });
    return { certificate: parseCertificate(der), key: PrivateKey.of(key.privateKey) };
  },
  cross: async ({ subject, by, notBefore, notAfter }) =>
    parseCertificate(
      issueCross({
        subject,
        issuer: by.certificate,
        issuerKey: by.key.key,
        serial: random(16),
        notBefore,
        notAfter,
      }),
    ),
  leaf: async ({ leaf: { metadata, spec }, by, notBefore, notAfter }) => {
    const key = await keys(spec.key, metadata.namespace);
    const { commonName, organizations } = spec.subject;
    const der = issueLeaf({
      issuer: by.certificate,
      issuerKey: by.key.key,
      publicKey: key.publicKey,
      serial: random(16),
      subject: { ...(commonName === undefined ? {} : { commonName }), organizations },
      dnsNames: spec.dnsNames,
      ipAddresses: spec.ipAddresses,
      uris: spec.uris,
      usages: spec.usages,
      notBefore,
      notAfter,
    });
    return { certificate: parseCertificate(der), key: PrivateKey.of(key.privateKey) };
  },
});
