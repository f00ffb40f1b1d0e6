import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { authority, DAY, type Issued, leafOf, NOW } from '../test/mock-ca.ts';
import {
  type Bundle,
  bundleOf,
  encodePem,
  HandoverError,
  instant,
  isExpired,
  parseBundle,
  parseCertificate,
} from './index.ts';

const cas = Array.from({ length: 8 }, (_, i) =>
  authority(`mesh ${i + 1}`, { notBefore: NOW - (100 - i) * DAY, notAfter: NOW + (i + 1) * DAY }),
);
const [ca1, ca2, ca3] = cas as [Issued, Issued, Issued];
const pem = (...issued: readonly Issued[]): string =>
  issued.map(({ certificate }) => certificate.pem).join('');
const names = (bundle: Bundle): string =>
  bundle.certificates.map(({ subject }) => subject.replace('CN=mesh ', '')).join(' ');
const key = encodePem('EC PRIVATE KEY', Buffer.from('secretsecretsecret'));

const errorOf = (action: () => unknown): HandoverError => {
  try {
    action();
  } catch (error) {
    if (error instanceof HandoverError) return error;
    throw error;
  }
  throw new Error('no error');
};

it('a bundle has the same text and hash whatever order, repetition, comments and line ends it came with', () => {
  const wanted = bundleOf(cas.map(({ certificate }) => certificate));
  fc.assert(
    fc.property(
      fc.shuffledSubarray(cas, { minLength: cas.length }),
      fc.array(fc.constantFrom(...cas)),
      fc.constantFrom('\n', '\r\n'),
      fc.array(fc.constantFrom('', '# comment', 'subject=x')),
      (order, again, newline, comments) => {
        const text = [...order, ...again].map((each, i) => `${comments[i] ?? ''}\n${pem(each)}`).join('\n');
        const bundle = parseBundle(text.replaceAll('\n', newline));
        expect(bundle.pem).toBe(wanted.pem);
        expect(bundle.hash).toBe(wanted.hash);
      },
    ),
  );
  expect(wanted.hash).toMatch(/^[0-9a-f]{64}$/);
});

it('a bundle puts the newest generation first, and ends ties by fingerprint', () => {
  expect(names(parseBundle(pem(...cas)))).toBe('8 7 6 5 4 3 2 1');
  const twins = [authority('mesh a'), authority('mesh b')];
  expect(parseBundle(pem(...twins)).pem).toBe(parseBundle(pem(...twins.toReversed())).pem);
});

it('a bundle has another hash when one certificate more or less is in it', () => {
  const hashes = [pem(ca1), pem(ca2), pem(ca1, ca2), pem(ca1, ca2, ca3)].map(
    (text) => parseBundle(text).hash,
  );
  expect(new Set(hashes).size).toBe(4);
});

it('a bundle is read again as what was written', () => {
  const bundle = parseBundle(pem(...cas));
  const again = parseBundle(bundle.pem);
  expect(again.pem).toBe(bundle.pem);
  expect(again.certificates.map(({ fingerprint }) => fingerprint)).toEqual(
    bundle.certificates.map(({ fingerprint }) => fingerprint),
  );
});

it('a bundle refuses a private key by name, before anything else in the text, and shows none of it', () => {
  for (const label of ['PRIVATE KEY', 'EC PRIVATE KEY', 'RSA PRIVATE KEY', 'ENCRYPTED PRIVATE KEY']) {
    const error = errorOf(() => parseBundle(pem(ca1) + key.replaceAll('EC PRIVATE KEY', label), 'a.pem'));
    expect(error).toMatchObject({ code: 'PEM_PRIVATE_KEY_IN_BUNDLE', path: 'a.pem' });
    expect(error.message).toContain(`a.pem holds a ${label} at line`);
    expect(error.message).not.toContain('c2VjcmV0');
  }
  expect(errorOf(() => parseBundle(key.slice(0, 40))).code).toBe('PEM_PRIVATE_KEY_IN_BUNDLE');
  expect(errorOf(() => parseBundle(encodePem('X509 CRL', Buffer.from([1])))).message).toContain('X509 CRL');
  expect(errorOf(() => parseBundle(encodePem('TRUSTED CERTIFICATE', Buffer.from([1])))).code).toBe(
    'PEM_LABEL_REFUSED',
  );
});

it('a bundle is never empty', () => {
  for (const text of ['', '\n', 'Cg==', '# none', '\uFEFF']) {
    expect(errorOf(() => parseBundle(text)).code).toBe('BUNDLE_EMPTY');
  }
  expect(errorOf(() => bundleOf([])).code).toBe('BUNDLE_EMPTY');
});

it('a bundle is refused as a whole for one bad certificate, whose place is named', () => {
  const error = errorOf(() => parseBundle(pem(ca1) + encodePem('CERTIFICATE', Buffer.from('junk')), 'b.pem'));
  expect(error.code).toBe('CERTIFICATE_MALFORMED');
  expect(error.message).toMatch(/^b\.pem, block at line \d+: /);
});

it('a bundle may hold 5,000 certificates', () => {
  // one certificate with 5,000 serial numbers: reading does not ask for the signature
  const { der } = authority('mesh', { serial: 0x0123456789abcdefn }).certificate;
  const at = Buffer.from(der).indexOf(Buffer.from('0123456789abcdef', 'hex'));
  const many = Array.from({ length: 5_000 }, (_, i) => {
    const copy = Buffer.from(der);
    copy.writeUInt32BE(i, at + 4);
    return parseCertificate(copy);
  });
  const bundle = parseBundle(many.map((certificate) => certificate.pem).join(''));
  expect(bundle.certificates).toHaveLength(5_000);
  expect(bundle.hash).toBe(bundleOf(many.toReversed()).hash);
});

test('a certificate has expired at the end of its validity, not a millisecond before', () => {
  expect(isExpired(ca1.certificate, instant(NOW + DAY - 1))).toBe(false);
  expect(isExpired(ca1.certificate, instant(NOW + DAY))).toBe(true);
});

test('a bundle tells certificates apart by their bytes, not by their names', () => {
  const twin = authority('mesh 1', { key: ca1.key });
  expect(parseBundle(pem(ca1, twin)).certificates).toHaveLength(2);
  expect(leafOf(ca1, 'x').certificate.issuerKey).toBe(twin.certificate.subjectKey);
});
