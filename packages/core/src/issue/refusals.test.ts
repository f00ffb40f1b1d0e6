import { generateKeyPairSync } from 'node:crypto';
import { HandoverError, hour, instant, parseCertificate } from '@handover/material';
import { expect, test } from 'vitest';
import {
  generateKey,
  issueCa,
  issueCross,
  issueLeaf,
  type KeyAlgorithm,
  type LeafInput,
  localSigner,
} from './index.ts';

const start = instant(Date.UTC(2030, 0, 1));
const end = instant(Date.UTC(2031, 0, 1));
const serial = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const key = generateKey('ECDSA-P256');
const other = generateKey('ECDSA-P256');
const signer = localSigner(key.privateKey);
const caInput = { name: 'mesh', generation: 1, signer, serial, notBefore: start, notAfter: end };
const ca = parseCertificate(await issueCa(caInput));
const leafInput: LeafInput = {
  issuer: ca,
  signer,
  publicKey: other.publicKey,
  serial,
  subject: { commonName: 'a' },
  dnsNames: [],
  ipAddresses: [],
  uris: [],
  usages: ['server'],
  notBefore: start,
  notAfter: end,
};

const refusal = async (act: () => unknown): Promise<string> => {
  try {
    await act();
  } catch (error) {
    if (error instanceof HandoverError) {
      expect(error.message).not.toMatch(/\n/);
      return `${error.code}: ${error.message}`;
    }
    throw error;
  }
  return 'accepted';
};
const leaf = (changes: Partial<LeafInput>) => refusal(() => issueLeaf({ ...leafInput, ...changes }));

test('keys that peers refuse are refused, for every holder', async () => {
  const ed = generateKeyPairSync('ed25519');
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  expect(await leaf({ publicKey: ed.publicKey })).toBe(
    'ISSUE_KEY_UNSUPPORTED: no certificate is issued with a key of type ed25519; use ECDSA P-256 or P-384, or RSA of 2048 bits or more',
  );
  expect(await leaf({ publicKey: small.publicKey })).toMatch(/^ISSUE_KEY_UNSUPPORTED: .*rsa 1024/);
  expect(await refusal(() => issueCa({ ...caInput, signer: localSigner(k1.privateKey) }))).toMatch(
    /^ISSUE_KEY_UNSUPPORTED: .*secp256k1/,
  );
  expect(await leaf({ publicKey: other.privateKey })).toMatch(
    /^ISSUE_KEY_UNSUPPORTED: .*public key, got a private/,
  );
  expect(await refusal(() => generateKey('Ed25519' as KeyAlgorithm))).toMatch(
    /^ISSUE_KEY_UNSUPPORTED: .*ECDSA-P256/,
  );
  expect(await refusal(() => generateKey('toString' as KeyAlgorithm))).toMatch(/^ISSUE_KEY_UNSUPPORTED/);
});

test('a signature by the key of another generation is never made', async () => {
  expect(await leaf({ signer: localSigner(other.privateKey) })).toBe(
    `ISSUE_KEY_MISMATCH: the signing key is not the private key of ${ca.subject}; check which generation's key was passed`,
  );
  expect(await refusal(() => localSigner(key.publicKey))).toMatch(
    /^ISSUE_KEY_UNSUPPORTED: .*got a public one/,
  );
  // A signer that is mistaken about its key.
  const mixed = { ...localSigner(other.privateKey), publicKey: key.publicKey };
  expect(await leaf({ signer: mixed })).toMatch(/^ISSUE_KEY_MISMATCH/);
  expect(await refusal(() => issueCa({ ...caInput, signer: mixed }))).toMatch(
    /^ISSUE_KEY_MISMATCH: .*of mesh 1;/,
  );
});

test('only a CA issues, and only a CA is cross-signed', async () => {
  const leafCertificate = parseCertificate(await issueLeaf({ ...leafInput, publicKey: key.publicKey }));
  expect(await leaf({ issuer: leafCertificate })).toBe(
    'ISSUE_NOT_A_CA: CN=a is not a CA; only a CA can sign or be cross-signed',
  );
  const cross = { signer, serial, notBefore: start, notAfter: end };
  expect(await refusal(() => issueCross({ ...cross, subject: leafCertificate, issuer: ca }))).toMatch(
    /^ISSUE_NOT_A_CA/,
  );
  expect(await refusal(() => issueCross({ ...cross, subject: ca, issuer: leafCertificate }))).toMatch(
    /^ISSUE_NOT_A_CA/,
  );
  expect(
    await refusal(() =>
      issueCross({ ...cross, subject: ca, issuer: ca, signer: localSigner(other.privateKey) }),
    ),
  ).toMatch(/^ISSUE_KEY_MISMATCH/);
});

test.each([
  [end, start],
  [start, start],
  [start, instant(start + 999)],
  [start, instant(Number.NaN)],
  [instant(Number.NEGATIVE_INFINITY), end],
  [instant(Date.UTC(1949, 11, 31)), end],
  [start, instant(Date.UTC(10000, 0, 1))],
])('no certificate is valid from %d to %d', async (notBefore, notAfter) => {
  expect(await refusal(() => issueCa({ ...caInput, notBefore, notAfter }))).toMatch(/^ISSUE_DATES/);
});

test('a leaf wholly outside the life of its CA is refused', async () => {
  expect(await leaf({ notBefore: instant(end + hour), notAfter: instant(end + 2 * hour) })).toMatch(
    /^ISSUE_DATES: .*issuer/,
  );
});

test('dates that only GeneralizedTime can hold survive', async () => {
  const notAfter = instant(Date.UTC(9999, 11, 31, 23, 59, 59));
  expect(parseCertificate(await issueCa({ ...caInput, notAfter })).notAfter).toBe(notAfter);
});

test('serial numbers are 8 to 20 random bytes', async () => {
  expect(await leaf({ serial: new Uint8Array(7).fill(1) })).toBe(
    'ISSUE_SERIAL: a serial number takes 8 to 20 random bytes, got 7',
  );
  expect(await leaf({ serial: new Uint8Array(21).fill(1) })).toMatch(/^ISSUE_SERIAL/);
  expect(await leaf({ serial: new Uint8Array(16) })).toMatch(/^ISSUE_SERIAL: .*zero/);
});

test('a leaf for every use, or for none, is refused', async () => {
  expect(await leaf({ usages: [] })).toMatch(/^ISSUE_USAGES: .*got none/);
  expect(await leaf({ usages: ['email' as 'server'] })).toMatch(/^ISSUE_USAGES: .*got email/);
  expect(await leaf({ subject: {} })).toMatch(/^ISSUE_NO_NAME/);
  expect(await leaf({ subject: { organizations: [] } })).toMatch(/^ISSUE_NO_NAME/);
});

test.each(['', 'x'.repeat(65), 'a\0b', 'a\nb', '\ud800'])('the subject %j is refused', async (commonName) => {
  expect(await leaf({ subject: { commonName } })).toMatch(/^ISSUE_SUBJECT: subject commonName/);
  expect(await leaf({ subject: { organizations: [commonName] } })).toMatch(
    /^ISSUE_SUBJECT: subject organization/,
  );
});

test.each([
  [0, 'ISSUE_GENERATION'],
  [1.5, 'ISSUE_GENERATION'],
  [Number.NaN, 'ISSUE_GENERATION'],
])('CA generation %d is refused', async (generation, code) => {
  expect(await refusal(() => issueCa({ ...caInput, generation }))).toMatch(new RegExp(`^${code}`));
});

test('a CA needs a name', async () => {
  expect(await refusal(() => issueCa({ ...caInput, name: '' }))).toMatch(/^ISSUE_SUBJECT/);
});

test.each([
  ['', 'not a DNS name'],
  ['*', 'only as its whole first label'],
  ['a.*.b', 'only as its whole first label'],
  ['a*.b', 'only as its whole first label'],
  ['*.*.b', 'only as its whole first label'],
  ['a..b', 'not a DNS name'],
  ['a.', 'ends with a dot'],
  ['-a', 'not a DNS name'],
  ['a-', 'not a DNS name'],
  ['ä.example', 'not a DNS name'],
  ['a b', 'not a DNS name'],
  ['a\0.example', 'not a DNS name'],
  [`${'a'.repeat(64)}.b`, 'not a DNS name'],
  [Array(130).fill('a').join('.'), '253'],
  ['10.0.0.1', 'list it in ipAddresses'],
])('the DNS name %j is refused', async (name, why) => {
  const message = await leaf({ dnsNames: [name] });
  expect(message).toMatch(/^ISSUE_NAME: dnsNames: "/);
  expect(message).toContain(why);
});

test.each([
  '',
  '1.2.3',
  '1.2.3.4.5',
  '256.0.0.1',
  '01.2.3.4',
  '1.2.3.4/8',
  ' 1.2.3.4',
  ':',
  ':::',
  '1::2::3',
  'fe80::1%eth0',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7::8:9',
  '1:2:3:4::5:6:7:8',
  '12345::',
  '1.2.3.4::',
  '1:2:3:4:5:6:7:1.2.3.4',
  ':1::2',
])('the IP address %j is refused', async (text) => {
  expect(await leaf({ ipAddresses: [text] })).toMatch(/^ISSUE_NAME: ipAddresses: .*not an IPv4 or IPv6/);
});

test.each([
  '',
  'mesh',
  '/ns/a',
  '//host/a',
  'spiffe:',
  'a b:c',
  'spiffe://a b',
  'http://ä',
  `http://${'a'.repeat(2048)}`,
])('the URI %j is refused', async (text) => {
  expect(await leaf({ uris: [text] })).toMatch(/^ISSUE_NAME: uris: /);
});
