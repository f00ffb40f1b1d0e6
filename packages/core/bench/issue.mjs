// npm run bench -w packages/core: P-256 leaves per second with our encoder and with @peculiar/x509, same key, same fields.
import 'reflect-metadata';
import { randomBytes, sign, webcrypto } from 'node:crypto';
import { cpus } from 'node:os';
import { parseCertificate } from '@handover/material';
import * as peculiar from '@peculiar/x509';
import { generateKey, issueCa, issueLeaf, localSigner } from '../dist/issue/index.js';

const SECONDS = 3;
const now = Date.now();
const hour = 3_600_000;
const key = generateKey('ECDSA-P256');
const dates = { notBefore: now - hour, notAfter: now + 24 * hour };
const signer = localSigner(key.privateKey);
const issuer = parseCertificate(
  await issueCa({ name: 'mesh', generation: 1, signer, serial: randomBytes(16), ...dates }),
);
const { publicKey } = generateKey('ECDSA-P256');
const dnsNames = ['envoy', 'envoy.mesh', 'envoy.mesh.svc', 'envoy.mesh.svc.cluster.local'];

const measure = async (name, once) => {
  for (let i = 0; i < 50; i++) await once();
  const from = performance.now();
  let count = 0;
  while (performance.now() - from < SECONDS * 1000) {
    await once();
    count++;
  }
  const perSecond = (count / (performance.now() - from)) * 1000;
  process.stdout.write(`${name.padEnd(34)} ${Math.round(perSecond)}/s\n`);
};

const ours = (publicKey) =>
  issueLeaf({
    issuer,
    signer,
    publicKey,
    serial: randomBytes(16),
    subject: { commonName: 'envoy' },
    dnsNames,
    ipAddresses: ['127.0.0.1'],
    uris: [],
    usages: ['server', 'client'],
    ...dates,
  });

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
peculiar.cryptoProvider.set(webcrypto);
const signingKey = await webcrypto.subtle.importKey(
  'pkcs8',
  key.privateKey.export({ type: 'pkcs8', format: 'der' }),
  algorithm,
  false,
  ['sign'],
);
const importPublic = (object) =>
  webcrypto.subtle.importKey('spki', object.export({ type: 'spki', format: 'der' }), algorithm, true, [
    'verify',
  ]);
const leafKey = await importPublic(publicKey);
const caKey = await importPublic(key.publicKey);
const theirs = async () =>
  peculiar.X509CertificateGenerator.create({
    serialNumber: randomBytes(16).toString('hex'),
    subject: 'CN=envoy',
    issuer: issuer.subject,
    notBefore: new Date(dates.notBefore),
    notAfter: new Date(dates.notAfter),
    signingAlgorithm: algorithm,
    publicKey: leafKey,
    signingKey,
    extensions: [
      new peculiar.BasicConstraintsExtension(false, undefined, true),
      new peculiar.KeyUsagesExtension(peculiar.KeyUsageFlags.digitalSignature, true),
      new peculiar.ExtendedKeyUsageExtension([
        peculiar.ExtendedKeyUsage.serverAuth,
        peculiar.ExtendedKeyUsage.clientAuth,
      ]),
      await peculiar.SubjectKeyIdentifierExtension.create(leafKey),
      await peculiar.AuthorityKeyIdentifierExtension.create(caKey),
      new peculiar.SubjectAlternativeNameExtension([
        ...dnsNames.map((value) => ({ type: 'dns', value })),
        { type: 'ip', value: '127.0.0.1' },
      ]),
    ],
  });

process.stdout.write(`node ${process.version}, ${cpus()[0]?.model}, ${cpus().length} CPUs\n`);
const tbs = randomBytes(400);
await measure('bare signatures', () => sign('sha256', tbs, key.privateKey));
await measure('issueLeaf, same leaf key', () => ours(publicKey));
await measure('issueLeaf, new leaf key each time', () => ours(generateKey('ECDSA-P256').publicKey));
await measure('@peculiar/x509, same leaf key', theirs);
