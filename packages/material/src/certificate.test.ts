import { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { oid, seq, set, tlv, utf8 } from '../test/der-writer.ts';
import {
  authority,
  DAY,
  general,
  issue,
  leafOf,
  NOW,
  p256,
  p384,
  printableName,
  rsa,
} from '../test/mock-ca.ts';
import { type Certificate, encodePem, HandoverError, parseCertificate, parseCertificates } from './index.ts';

const ca = authority('mesh 1 ab12cd34', { pathLength: 2 });
const leaf = leafOf(ca, 'envoy', {
  dns: ['envoy.mesh.svc', '*.mesh'],
  ip: [
    [127, 0, 0, 1],
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  ],
  uri: ['spiffe://mesh/envoy'],
  email: ['a@b.test'],
});

const codeOf = (der: Uint8Array): string => {
  try {
    parseCertificate(der);
    return 'no error';
  } catch (error) {
    if (error instanceof HandoverError) return error.code;
    throw error;
  }
};

it('a certificate is a value with everything a rotation asks about', () => {
  expect(ca.certificate).toMatchObject({
    subject: 'CN=mesh 1 ab12cd34',
    issuer: 'CN=mesh 1 ab12cd34',
    selfIssued: true,
    version: 3,
    isCa: true,
    pathLength: 2,
    hasBasicConstraints: true,
    keyUsage: ['keyCertSign', 'cRLSign'],
    extendedKeyUsage: undefined,
    keyAlgorithm: 'ECDSA-P256',
    signatureAlgorithm: 'ECDSA-SHA256',
    subjectKeyId: Buffer.from(ca.ski).toString('hex'),
    unknownCritical: [],
  });
  expect(leaf.certificate).toMatchObject({
    subject: 'CN=envoy',
    issuer: 'CN=mesh 1 ab12cd34',
    issuerKey: ca.certificate.subjectKey,
    selfIssued: false,
    notBefore: NOW - DAY,
    notAfter: NOW + 365 * DAY,
    isCa: false,
    pathLength: undefined,
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: ['serverAuth', 'clientAuth'],
    authorityKeyId: ca.certificate.subjectKeyId,
    dnsNames: ['envoy.mesh.svc', '*.mesh'],
    ipAddresses: ['127.0.0.1', '2001:db8::1'],
    uris: ['spiffe://mesh/envoy'],
    emails: ['a@b.test'],
  });
  const theirs = new X509Certificate(leaf.certificate.pem);
  expect(leaf.certificate.fingerprint).toBe(theirs.fingerprint256.replaceAll(':', '').toLowerCase());
});

it('a certificate names its key and its signature', () => {
  const names = (certificate: Certificate): string =>
    `${certificate.keyAlgorithm} ${certificate.signatureAlgorithm}`;
  expect(names(authority('x', { key: p384(), digest: 'sha384' }).certificate)).toBe(
    'ECDSA-P384 ECDSA-SHA384',
  );
  expect(names(authority('x', { key: rsa() }).certificate)).toBe('RSA-2048 RSA-SHA256');
  expect(names(authority('x', { key: p256(), digest: 'sha1' }).certificate)).toBe('ECDSA-P256 ECDSA-SHA1');
});

it('a certificate lives as long as it says: 4,000 years, before 1970, to the end of time', () => {
  const ages: readonly (readonly [number, number])[] = [
    [NOW, Date.UTC(6026, 0, 1)],
    [Date.UTC(1950, 0, 1), Date.UTC(2049, 11, 31, 23, 59, 59)],
    [Date.UTC(1949, 11, 31), Date.UTC(2050, 0, 1)],
    [new Date(0).setUTCFullYear(33, 3, 3), Date.UTC(9999, 11, 31, 23, 59, 59)],
  ];
  for (const [notBefore, notAfter] of ages) {
    expect(authority('x', { notBefore, notAfter }).certificate).toMatchObject({ notBefore, notAfter });
  }
});

it('a certificate has a serial number of any sign and size', () => {
  const serial = (value: bigint): string => authority('x', { serial: value }).certificate.serial;
  expect(serial(0n)).toBe('0');
  expect(serial(0x80n)).toBe('80');
  expect(serial(-1n)).toBe('-1');
  expect(serial(-256n)).toBe('-100');
  expect(serial(2n ** 200n + 5n)).toBe((2n ** 200n + 5n).toString(16));
});

it('a certificate may be of version 1, without extensions', () => {
  expect(issue({ subject: 'old', version: 1 }).certificate).toMatchObject({
    version: 1,
    isCa: false,
    hasBasicConstraints: false,
    keyUsage: undefined,
    subjectKeyId: undefined,
    authorityKeyId: undefined,
    dnsNames: [],
  });
});

it('a certificate lists unknown critical extensions', () => {
  const extra = [
    { oid: '1.2.3.4', critical: true, value: Buffer.from([5, 0]) },
    { oid: '2.25.329800735698586629295641978511506172918', value: Buffer.from([5, 0]) },
  ];
  expect(leafOf(ca, 'x', { extra }).certificate.unknownCritical).toEqual(['1.2.3.4']);
});

it('a certificate compares names as a verifier does and prints them escaped, last part first', () => {
  const name = seq(
    set(seq(oid('2.5.4.6'), tlv(0x13, Buffer.from('DE')))),
    set(seq(oid('2.5.4.10'), utf8('Müller, Söhne & Co')), seq(oid('2.5.4.11'), utf8(' #x '))),
    set(seq(oid('2.5.4.3'), tlv(0x1e, Buffer.from('0041D83D', 'hex').subarray(0, 2)))),
    set(seq(oid('1.2.3'), utf8('a\nb'))),
  );
  expect(authority('', { subject: name }).certificate.subject).toBe(
    '1.2.3=a\\0ab,CN=A,O=Müller\\, Söhne & Co+OU=\\ #x\\ ,C=DE',
  );
  const key = (subject: string | Buffer): string => authority('', { subject }).certificate.subjectKey;
  expect(key(printableName('Mesh  One'))).toBe(key(' mesh one'));
  expect(key('mesh one')).not.toBe(key('meshone'));
  expect(key('ÄPFEL')).not.toBe(key('äpfel'));
});

it('a list of certificates keeps its order and refuses other labels by name', () => {
  const { certificates, junk } = parseCertificates(`# chain\n${leaf.certificate.pem}${ca.certificate.pem}`);
  expect(certificates.map(({ fingerprint }) => fingerprint)).toEqual([
    leaf.certificate.fingerprint,
    ca.certificate.fingerprint,
  ]);
  expect(junk).toHaveLength(1);
  const crl = encodePem('X509 CRL', Buffer.from([1]));
  expect(() => parseCertificates(leaf.certificate.pem + crl)).toThrowError(
    expect.objectContaining({
      code: 'PEM_LABEL_REFUSED',
      message: expect.stringContaining('X509 CRL at line'),
    }),
  );
  expect(() => parseCertificates('# nothing')).toThrowError(
    expect.objectContaining({ code: 'PEM_NO_CERTIFICATE' }),
  );
});

describe('bytes that are not a certificate', () => {
  const good = Buffer.from(leaf.certificate.der);

  it('bytes that are not a certificate are refused when cut short anywhere, or followed by anything', () => {
    for (let length = 0; length < good.length; length++) {
      expect(codeOf(good.subarray(0, length))).toBe('CERTIFICATE_MALFORMED');
    }
    expect(codeOf(Buffer.concat([good, Buffer.from([0])]))).toBe('CERTIFICATE_MALFORMED');
  });

  it('bytes that are not a certificate give a coded error or a certificate that OpenSSL reads too, whichever bytes were changed', () => {
    const samples = [leaf, ca, authority('r', { key: rsa() })].map(({ certificate }) =>
      Buffer.from(certificate.der),
    );
    const change = fc.record({
      at: fc.nat(),
      to: fc.integer({ min: 0, max: 255 }),
      kind: fc.nat({ max: 3 }),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (sample, changes) => {
          let bytes = Buffer.from(sample);
          for (const { at, to, kind } of changes) {
            const i = at % bytes.length;
            if (kind === 0) bytes = Buffer.concat([bytes.subarray(0, i), bytes.subarray(i + 1)]);
            else if (kind === 1)
              bytes = Buffer.concat([bytes.subarray(0, i), Buffer.from([to]), bytes.subarray(i)]);
            else bytes[i] = kind === 2 ? to : (bytes[i] ?? 0) ^ (1 << (to & 7));
          }
          const code = codeOf(bytes);
          expect(code).toMatch(/^(no error|CERTIFICATE_MALFORMED)$/);
          if (code === 'no error') expect(() => new X509Certificate(bytes)).not.toThrow();
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it('bytes of any other kind are refused with a code', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => codeOf(bytes) === 'CERTIFICATE_MALFORMED'),
    );
    const huge = Buffer.alloc(10_000_000, 0x30);
    expect(codeOf(huge)).toBe('CERTIFICATE_MALFORMED');
    huge.set([0x30, 0x83, 0x98, 0x96, 0x7b]);
    expect(codeOf(huge)).toBe('CERTIFICATE_MALFORMED');
  });

  it('bytes that are not a certificate are refused when extensions stand in a certificate of version 2', () => {
    const bytes = Buffer.from(ca.certificate.der);
    const version = bytes.indexOf(Buffer.from('a003020102', 'hex'));
    expect(version).toBeGreaterThan(0);
    bytes[version + 4] = 1;
    expect(() => parseCertificate(bytes)).toThrow(/not version 3/);
    bytes[version + 4] = 3;
    expect(() => parseCertificate(bytes)).toThrow(/unknown version/);
  });

  it('bytes that are not a certificate are refused when an extension comes twice, is empty, or lies about a name', () => {
    const twice = { oid: '1.2.3.4', value: Buffer.from([5, 0]) };
    expect(() => leafOf(ca, 'x', { extra: [twice, twice] })).toThrow(/given twice/);
    expect(() => leafOf(ca, 'x', { usages: [] })).toThrow(/empty keyUsage/);
    expect(() => leafOf(ca, 'x', { eku: [] })).toThrow(/empty extendedKeyUsage/);
    expect(() => leafOf(ca, 'x', { dns: ['good.test\0.evil.test'] })).toThrow(/printable ASCII/);
    expect(() => leafOf(ca, 'x', { ip: [[1, 2, 3]] })).toThrow(/IP address/);
    const spare = [{ oid: '2.5.29.17', value: Buffer.concat([seq(general.dns('a')), Buffer.from([5, 0])]) }];
    expect(() => leafOf(ca, 'x', { dns: [], extra: spare })).toThrow(/stray bytes/);
  });
});
