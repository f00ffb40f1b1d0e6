import { createPublicKey } from 'node:crypto';
import { issueCa, issueCross, issueLeaf, type KeySource } from '@handover/core';
import { PrivateKey, parseCertificate } from '@handover/material';
import type { Issuer } from '../snapshot/keyring.ts';

/** Makes certificates in this process, and keys of leaves with `keys`; CAs sign wherever their key is. */
export const issuerWith = (keys: KeySource, random: (bytes: number) => Uint8Array): Issuer => {
  const sign: Issuer['sign'] = async ({ leaf: { spec }, by, publicKey, notBefore, notAfter }) => {
    const { commonName, organizations } = spec.subject;
    const der = await issueLeaf({
      issuer: by.certificate,
      signer: by.signer,
      publicKey,
      serial: random(16),
      subject: { ...(commonName === undefined ? {} : { commonName }), organizations },
      dnsNames: spec.dnsNames,
      ipAddresses: spec.ipAddresses,
      uris: spec.uris,
      usages: spec.usages,
      notBefore,
      notAfter,
    });
    return parseCertificate(der);
  };
  return {
    ca: async (asked) => parseCertificate(await issueCa({ ...asked, serial: random(16) })),
    cross: async ({ by: { certificate: issuer, signer }, ...asked }) =>
      parseCertificate(await issueCross({ ...asked, issuer, signer, serial: random(16) })),
    sign,
    leaf: async ({ key: kept, ...asked }) => {
      const { metadata, spec } = asked.leaf;
      const key =
        kept === undefined
          ? await keys(spec.key, metadata.namespace)
          : { privateKey: kept.key, publicKey: createPublicKey(kept.key) };
      const certificate = await sign({ ...asked, publicKey: key.publicKey });
      return { certificate, key: PrivateKey.of(key.privateKey) };
    },
  };
};
