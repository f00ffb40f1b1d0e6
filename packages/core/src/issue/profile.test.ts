import { createHash, X509Certificate } from 'node:crypto';
import { type Certificate, hour, instant, parseCertificate } from '@handover/material';
import { expect, test } from 'vitest';
import { keyOf } from '../../test/keys.ts';
import {
  generateKey,
  issueCa,
  issueCross,
  issueLeaf,
  type KeyAlgorithm,
  type LeafInput,
  localSigner,
  subjectKeyId,
} from './index.ts';
import { membersAt, spanAt } from './public-key.ts';

const start = instant(Date.UTC(2030, 0, 1));
const end = instant(Date.UTC(2035, 0, 1));
const serial = Uint8Array.from({ length: 16 }, (_, i) => i + 1);

const key1 = generateKey('ECDSA-P256');
const key2 = generateKey('ECDSA-P256');
const signer = localSigner(key1.privateKey);
const caOf = async (generation: number, key = key1, dates = { notBefore: start, notAfter: end }) =>
  parseCertificate(
    await issueCa({ name: 'mesh', generation, signer: localSigner(key.privateKey), serial, ...dates }),
  );
const ca1 = await caOf(1);
const ca2 = await caOf(2, key2, { notBefore: instant(start + hour), notAfter: instant(end + hour) });
const x = parseCertificate(
  await issueCross({
    subject: ca2,
    issuer: ca1,
    signer,
    serial,
    notBefore: instant(start + 2 * hour),
    notAfter: instant(end + hour),
  }),
);

const leafInput: LeafInput = {
  issuer: ca1,
  signer,
  publicKey: key2.publicKey,
  serial,
  subject: { commonName: 'envoy', organizations: ['Example', 'Mesh'] },
  dnsNames: ['envoy', '*.mesh.svc'],
  ipAddresses: ['127.0.0.1', '2001:db8::1'],
  uris: ['spiffe://mesh/envoy'],
  usages: ['server', 'client'],
  notBefore: instant(start + hour),
  notAfter: instant(start + 24 * hour),
};
const leaf = async (changes: Partial<LeafInput> = {}) =>
  parseCertificate(await issueLeaf({ ...leafInput, ...changes }));

const OIDS: Record<string, string> = {
  '551d13': 'basicConstraints',
  '551d0f': 'keyUsage',
  '551d25': 'extKeyUsage',
  '551d0e': 'subjectKeyIdentifier',
  '551d23': 'authorityKeyIdentifier',
  '551d11': 'subjectAltName',
  '551d1e': 'nameConstraints',
};

/** Extensions in order, `!` for critical: neither parser shows criticality. */
const extensionsOf = ({ der }: Certificate): readonly string[] => {
  const wrapped = membersAt(der, spanAt(der, 0).start).at(-1) ?? new Uint8Array();
  return membersAt(wrapped, spanAt(wrapped, 0).start).map((extension) => {
    const [oid = new Uint8Array(), second] = membersAt(extension, 0);
    return (OIDS[Buffer.from(oid.subarray(2)).toString('hex')] ?? '?') + (second?.[0] === 1 ? '!' : '');
  });
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

test('the CA of a generation is named after authority, generation and key, and signed by itself', async () => {
  const ski = hex(subjectKeyId(key1.publicKey));
  const node = new X509Certificate(ca1.der);
  expect(node.subject).toBe(`CN=mesh 1 ${ski.slice(0, 8)}`);
  expect(node.issuer).toBe(node.subject);
  expect(node.verify(key1.publicKey)).toBe(true);
  expect(node.checkIssued(node)).toBe(true);
  expect(node.serialNumber).toBe(hex(serial).toUpperCase());
  expect(ca1.subject).toBe(node.subject);
  expect(ca1.version).toBe(3);
});

test('the CA of a generation may sign certificates and nothing else, to any depth', async () => {
  expect(new X509Certificate(ca1.der).ca).toBe(true);
  expect(ca1).toMatchObject({ isCa: true, pathLength: undefined, extendedKeyUsage: undefined });
  expect(ca1.keyUsage).toEqual(['keyCertSign', 'cRLSign']);
  expect(extensionsOf(ca1)).toEqual([
    'basicConstraints!',
    'keyUsage!',
    'subjectKeyIdentifier',
    'authorityKeyIdentifier',
  ]);
});

test('the CA of a generation is bound to permitted names by a critical extension, as addresses with masks and plain domains', async () => {
  const nameConstraints = { dnsNames: ['mesh.svc'], ipAddresses: ['10.1.2.3/9', '::1'] };
  const bound = parseCertificate(
    await issueCa({
      name: 'mesh',
      generation: 1,
      signer,
      serial,
      notBefore: start,
      notAfter: end,
      nameConstraints,
    }),
  );
  expect(extensionsOf(bound)).toContain('nameConstraints!');
  const ip = (...octets: number[]) => ({ kind: 'ip', octets: Uint8Array.from(octets) });
  expect(bound.nameConstraints).toEqual({
    permitted: [
      { kind: 'dns', value: 'mesh.svc' },
      ip(10, 0, 0, 0, 255, 128, 0, 0),
      ip(...new Array<number>(15).fill(0), 1, ...new Array<number>(16).fill(255)),
    ],
    excluded: [],
  });
  expect(ca1.nameConstraints).toBeUndefined();
});

test.each([
  { dnsNames: ['*.mesh.svc'] },
  { dnsNames: ['.mesh.svc'] },
  { dnsNames: ['mesh svc'] },
  { ipAddresses: ['10.0.0.0/33'] },
  { ipAddresses: ['::ffff:10.0.0.0/104'] },
])('the CA of a generation is not bound to what is no domain or range: %j', (nameConstraints) => {
  const dates = { notBefore: start, notAfter: end };
  return expect(
    issueCa({ name: 'mesh', generation: 1, signer, serial, ...dates, nameConstraints }),
  ).rejects.toThrow(/nameConstraints\.(dnsNames|ipAddresses): "/);
});

test('the CA of a generation carries its key identifier as SKI and as AKI', async () => {
  expect(ca1.subjectKeyId).toBe(hex(subjectKeyId(key1.publicKey)));
  expect(ca1.authorityKeyId).toBe(ca1.subjectKeyId);
});

test('the CA of a generation has exactly the dates asked for, to the second', async () => {
  expect([ca1.notBefore, ca1.notAfter]).toEqual([start, end]);
  const odd = await caOf(1, key1, { notBefore: instant(start + 999), notAfter: instant(end + 999) });
  expect([odd.notBefore, odd.notAfter]).toEqual([start, end]);
});

test('the CA of a generation cuts a name that the field has no room for, never the part that is unique', async () => {
  const long = parseCertificate(
    await issueCa({
      name: 'n'.repeat(253),
      generation: 12,
      signer,
      serial,
      notBefore: start,
      notAfter: end,
    }),
  );
  const cn = long.subject.slice(3);
  expect(cn).toHaveLength(64);
  expect(cn).toMatch(/^n+ 12 [0-9a-f]{8}$/);
});

test('the cross-certificate is CA 2 in name, key and rights, signed by CA 1', async () => {
  const node = new X509Certificate(x.der);
  expect(node.verify(key1.publicKey)).toBe(true);
  expect(node.checkIssued(new X509Certificate(ca1.der))).toBe(true);
  expect(node.publicKey.equals(key2.publicKey)).toBe(true);
  expect([x.subject, x.issuer]).toEqual([ca2.subject, ca1.subject]);
  expect([x.subjectKeyId, x.authorityKeyId]).toEqual([ca2.subjectKeyId, ca1.subjectKeyId]);
  expect(x).toMatchObject({ isCa: true, pathLength: undefined, keyUsage: ca1.keyUsage });
  expect(x.extendedKeyUsage).toBeUndefined();
  expect(extensionsOf(x)).toEqual(extensionsOf(ca1));
});

test('the cross-certificate starts when asked and ends no later than the CA that signed it', async () => {
  expect([x.notBefore, x.notAfter]).toEqual([instant(start + 2 * hour), ca1.notAfter]);
});

test('a leaf shows the names, usages and dates asked for', async () => {
  const got = await leaf();
  const node = new X509Certificate(got.der);
  expect(node.subject).toBe('O=Example\nO=Mesh\nCN=envoy');
  expect(node.subjectAltName).toBe(
    'DNS:envoy, DNS:*.mesh.svc, IP Address:127.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1, URI:spiffe://mesh/envoy',
  );
  expect(node.checkHost('a.mesh.svc')).toBe('*.mesh.svc');
  expect(node.checkIP('2001:db8::1')).toBe('2001:db8::1');
  expect(got).toMatchObject({
    issuer: ca1.subject,
    dnsNames: leafInput.dnsNames,
    ipAddresses: leafInput.ipAddresses,
    uris: leafInput.uris,
    extendedKeyUsage: ['serverAuth', 'clientAuth'],
    notBefore: leafInput.notBefore,
    notAfter: leafInput.notAfter,
  });
});

test('a leaf is no CA, and is tied to its issuer by signature and key identifier', async () => {
  const got = await leaf();
  const node = new X509Certificate(got.der);
  expect([node.ca, got.isCa, got.hasBasicConstraints]).toEqual([false, false, true]);
  expect(node.verify(key1.publicKey)).toBe(true);
  expect(node.checkIssued(new X509Certificate(ca1.der))).toBe(true);
  expect(node.checkPrivateKey(key2.privateKey)).toBe(true);
  expect(got.subjectKeyId).toBe(hex(subjectKeyId(key2.publicKey)));
  expect(got.authorityKeyId).toBe(ca1.subjectKeyId);
});

test('a leaf marks its alternative names critical only when it has no subject', async () => {
  const order = ['basicConstraints!', 'keyUsage!', 'extKeyUsage'];
  const ids = ['subjectKeyIdentifier', 'authorityKeyIdentifier'];
  expect(extensionsOf(await leaf())).toEqual([...order, ...ids, 'subjectAltName']);
  expect(extensionsOf(await leaf({ subject: {} }))).toEqual([...order, ...ids, 'subjectAltName!']);
  expect((await leaf({ subject: {} })).subject).toBe('');
});

test('a leaf needs no alternative name: a canary has none', async () => {
  const canary = await leaf({ dnsNames: [], ipAddresses: [], uris: [], usages: ['client'] });
  expect(extensionsOf(canary)).not.toContain('subjectAltName');
  expect(canary.extendedKeyUsage).toEqual(['clientAuth']);
  expect((await leaf({ usages: ['server'] })).extendedKeyUsage).toEqual(['serverAuth']);
});

test('a leaf holds a name once and its usages in one order, however they were asked for', async () => {
  const twice = await leaf({ dnsNames: ['a', 'b', 'a'], usages: ['client', 'server', 'client'] });
  expect(twice.dnsNames).toEqual(['a', 'b']);
  expect(twice.extendedKeyUsage).toEqual(['serverAuth', 'clientAuth']);
});

test('a leaf never lives outside its CA', async () => {
  const wide = await leaf({ notBefore: instant(start - hour), notAfter: instant(end + hour) });
  expect([wide.notBefore, wide.notAfter]).toEqual([ca1.notBefore, ca1.notAfter]);
});

test('a leaf may be encrypted to only when its key is RSA', async () => {
  const rsa = keyOf('RSA-2048');
  expect((await leaf()).keyUsage).toEqual(['digitalSignature']);
  expect((await leaf({ publicKey: rsa.publicKey })).keyUsage).toEqual([
    'digitalSignature',
    'keyEncipherment',
  ]);
});

test.each([
  ['ECDSA-P256', 'ECDSA-SHA256'],
  ['ECDSA-P384', 'ECDSA-SHA384'],
  ['RSA-2048', 'RSA-SHA256'],
  ['RSA-3072', 'RSA-SHA256'],
] satisfies [KeyAlgorithm, string][])('a CA with a key of %s signs with %s', async (algorithm, signature) => {
  const key = keyOf(algorithm);
  const made = await caOf(1, key);
  expect(made).toMatchObject({ keyAlgorithm: algorithm, signatureAlgorithm: signature });
  expect(new X509Certificate(made.der).verify(key.publicKey)).toBe(true);
});

test('the key identifier is the first 160 bits of the SHA-256 of the bare public key', async () => {
  const { publicKey } = generateKey('ECDSA-P256');
  const point = publicKey.export({ type: 'spki', format: 'der' }).subarray(-65); // 04, x, y
  expect(hex(subjectKeyId(publicKey))).toBe(createHash('sha256').update(point).digest('hex').slice(0, 40));
  const rsa = keyOf('RSA-2048').publicKey;
  const pkcs1 = rsa.export({ type: 'pkcs1', format: 'der' });
  expect(hex(subjectKeyId(rsa))).toBe(createHash('sha256').update(pkcs1).digest('hex').slice(0, 40));
});
