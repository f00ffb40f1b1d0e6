import 'reflect-metadata';
import { instant, parseCertificate } from '@handover/material';
import * as peculiar from '@peculiar/x509';
import { expect, test } from 'vitest';
import { generateKey, issueCa, issueLeaf, localSigner } from './index.ts';

const hex = (bytes: ArrayBuffer | Uint8Array): string => Buffer.from(bytes as Uint8Array).toString('hex');
const key = generateKey('ECDSA-P256');
const notBefore = instant(Date.UTC(2030, 0, 1));
const notAfter = instant(Date.UTC(2055, 0, 1));
const serial = Uint8Array.from({ length: 16 }, (_, i) => 0xff - i);
const signer = localSigner(key.privateKey);
const ca = parseCertificate(
  await issueCa({ name: 'mesh', generation: 1, signer, serial, notBefore, notAfter }),
);

test('@peculiar/x509 encodes the same extensions to the same bytes', async () => {
  const der = await issueLeaf({
    issuer: ca,
    signer,
    publicKey: key.publicKey,
    serial,
    subject: {},
    dnsNames: ['a.example', '*.mesh.svc'],
    ipAddresses: ['10.0.0.1', '2001:db8::1'],
    uris: ['spiffe://mesh/a'],
    usages: ['server', 'client'],
    notBefore,
    notAfter,
  });
  const ski = ca.subjectKeyId ?? '';
  const { serverAuth, clientAuth } = peculiar.ExtendedKeyUsage;
  const names: peculiar.JsonGeneralNames = [
    { type: 'dns', value: 'a.example' },
    { type: 'dns', value: '*.mesh.svc' },
    { type: 'ip', value: '10.0.0.1' },
    { type: 'ip', value: '2001:db8::1' },
    { type: 'url', value: 'spiffe://mesh/a' },
  ];
  const theirs = [
    new peculiar.BasicConstraintsExtension(false, undefined, true),
    new peculiar.KeyUsagesExtension(peculiar.KeyUsageFlags.digitalSignature, true),
    new peculiar.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
    new peculiar.SubjectKeyIdentifierExtension(ski),
    new peculiar.AuthorityKeyIdentifierExtension(ski),
    new peculiar.SubjectAlternativeNameExtension(names, true),
  ];
  const ours = new peculiar.X509Certificate(der).extensions;
  expect(ours.map((extension) => hex(extension.rawData))).toEqual(
    theirs.map((extension) => hex(extension.rawData)),
  );
});

test('@peculiar/x509 reads a CA as we meant it, and finds its signature good', async () => {
  const theirs = new peculiar.X509Certificate(ca.der);
  const usages = peculiar.KeyUsageFlags.keyCertSign | peculiar.KeyUsageFlags.cRLSign;
  expect(theirs.subject).toBe(ca.subject);
  expect(theirs.serialNumber.replace(/^00/, '')).toBe(hex(serial));
  expect([theirs.notBefore.getTime(), theirs.notAfter.getTime()]).toEqual([notBefore, notAfter]);
  expect(theirs.extensions.map((extension) => hex(extension.rawData)).slice(0, 2)).toEqual(
    [
      new peculiar.BasicConstraintsExtension(true, undefined, true),
      new peculiar.KeyUsagesExtension(usages, true),
    ].map((extension) => hex(extension.rawData)),
  );
  expect(await theirs.verify({ signatureOnly: true, publicKey: theirs.publicKey })).toBe(true);
});
