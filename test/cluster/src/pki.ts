import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  generateKey,
  type KeyPair,
  localSigner,
  signedWith,
  type Unsigned,
  unsignedCa,
  unsignedLeaf,
} from '@handover/core';
import { after, type Certificate, day, encodePem, hour, instant, parseCertificate } from '@handover/material';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface LeafRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usage: 'client' | 'server';
}

/** A CA of the test cluster, its key in memory and beside its certificate. */
export interface TestCa extends CertificateFiles {
  readonly pem: string;
  issue(file: string, request: LeafRequest): CertificateFiles;
}

/** Writes atomically: the API server reloads its files while they are replaced. */
export const writeWhole = (path: string, text: string, mode = 0o600): void => {
  writeFileSync(`${path}.new`, text, { mode });
  renameSync(`${path}.new`, path);
};

const pemOf = (key: KeyPair): string => key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const writePair = (directory: string, file: string, certificate: string, key: string): CertificateFiles => {
  const files = { certFile: join(directory, `${file}.crt`), keyFile: join(directory, `${file}.key`) };
  writeWhole(files.keyFile, key);
  writeWhole(files.certFile, certificate, 0o644);
  return files;
};

export function makeCa(directory: string, file: string, name: string, generation = 1): TestCa {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const key = generateKey('ECDSA-P256');
  const now = instant(Date.now());
  const dates = { notBefore: after(now, -hour), notAfter: after(now, 365 * day) };
  const signer = localSigner(key.privateKey);
  const signed = (unsigned: Unsigned): Uint8Array =>
    signedWith(unsigned, sign('sha256', unsigned.tbs, key.privateKey));
  const der = signed(unsignedCa({ name, generation, signer, serial: randomBytes(16), ...dates }));
  const certificate: Certificate = parseCertificate(der);
  const pem = encodePem('CERTIFICATE', der);
  return {
    ...writePair(directory, file, pem, pemOf(key)),
    pem,
    issue: (leafFile, { usage, commonName, organizations, ...names }) => {
      const leafKey = generateKey('ECDSA-P256');
      const leaf = unsignedLeaf({
        issuer: certificate,
        signer,
        publicKey: leafKey.publicKey,
        serial: randomBytes(16),
        subject: { commonName, organizations },
        usages: [usage],
        uris: [],
        dnsNames: names.dnsNames ?? [],
        ipAddresses: names.ipAddresses ?? [],
        ...dates,
      });
      return writePair(directory, leafFile, encodePem('CERTIFICATE', signed(leaf)), pemOf(leafKey));
    },
  };
}

/** The pair that signs ServiceAccount tokens: its public half is not a certificate. */
export const makeTokenKey = (
  directory: string,
): { readonly publicFile: string; readonly keyFile: string } => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const files = { publicFile: join(directory, 'tokens.pub'), keyFile: join(directory, 'tokens.key') };
  writeWhole(files.keyFile, privateKey.export({ type: 'sec1', format: 'pem' }).toString());
  writeWhole(files.publicFile, publicKey.export({ type: 'spki', format: 'pem' }).toString(), 0o644);
  return files;
};
