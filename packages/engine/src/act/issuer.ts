import { createPublicKey } from 'node:crypto';
import { issueCa, issueCross, issueLeaf, type KeySource } from '@handover/core';
import { PrivateKey, parseCertificate } from '@handover/material';
import type { Issuer } from '../snapshot/keyring.ts';

/** Makes certificates in this process, and keys of leaves with `keys`; CAs sign wherever their key is. */
export const issuerWith = (keys: KeySource, random: (bytes: number) => Uint8Array): Issuer => ({
  ca: async (asked) => parseCertificate(await issueCa({ ...asked, serial: random(16) })),
  cross: async ({ by: { certificate: issuer, signer }, ...asked }) =>
    parseCertificate(await issueCross({ ...asked, issuer, signer, serial: random(16) })),
  leaf: async ({ leaf: { metadata, spec }, by, key: kept, notBefore, notAfter }) => {
    const key =
      kept === undefined
        ? await keys(spec.key, metadata.namespace)
        : { privateKey: kept.key, publicKey: createPublicKey(kept.key) };
    const { commonName, organizations } = spec.subject;
    const der = await issueLeaf({
      issuer: by.certificate,
      signer: by.signer,
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
