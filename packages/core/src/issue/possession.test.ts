import 'reflect-metadata';
import { constants, createHash, generateKeyPairSync, type KeyObject, sign, webcrypto } from 'node:crypto';
import { cryptoProvider, Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { expect, test } from 'vitest';
import { keyOf } from '../../test/keys.ts';
import { keyAlgorithmOf, keyOfSigningRequest, keyWithProof } from './index.ts';

cryptoProvider.set(webcrypto as never);

const ALGORITHMS = {
  RSA3072: {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    publicExponent: new Uint8Array([1, 0, 1]),
    modulusLength: 3072,
  },
  ECDSAP256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  ECDSAP384: { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
  ECDSAP521: { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-512' },
  ED25519: { name: 'Ed25519' },
} as const;
type Algorithm = (typeof ALGORITHMS)[keyof typeof ALGORITHMS];

const keysOf = async (algorithm: Algorithm): Promise<webcrypto.CryptoKeyPair> => {
  const { subtle } = webcrypto;
  if (algorithm !== ALGORITHMS.RSA3072)
    return (await subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const { privateKey, publicKey } = keyOf('RSA-3072');
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  return {
    privateKey: await subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']),
    publicKey: await subtle.importKey('spki', spkiOf(publicKey), algorithm, true, ['verify']),
  };
};

const requestWith = async (algorithm: Algorithm) => {
  const keys = await keysOf(algorithm);
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: keys as never,
    signingAlgorithm: algorithm,
  });
  const spki = Buffer.from(await webcrypto.subtle.exportKey('spki', keys.publicKey));
  return { der: new Uint8Array(request.rawData), spki };
};

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
const codeOf = (work: () => unknown): string | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as { readonly code?: string }).code;
  }
};

test.each(Object.entries(ALGORITHMS))(
  'a request for a key of type %s gives that key',
  async (_, algorithm) => {
    const { der, spki } = await requestWith(algorithm);
    expect(spkiOf(keyOfSigningRequest(der)).equals(spki)).toBe(true);
  },
);

test('a request whose key was exchanged proves nothing', async () => {
  const [one, other] = [await requestWith(ALGORITHMS.ECDSAP256), await requestWith(ALGORITHMS.ECDSAP256)];
  const at = Buffer.from(one.der).indexOf(one.spki);
  const forged = Buffer.from(one.der);
  other.spki.copy(forged, at);
  expect(codeOf(() => keyOfSigningRequest(forged))).toBe('SIGNING_REQUEST_UNPROVEN');
});

test('a signature of another algorithm than that of the key proves nothing', async () => {
  const { der } = await requestWith(ALGORITHMS.ECDSAP256);
  const oid = Buffer.from('2a8648ce3d040302', 'hex'); // ecdsa-with-SHA256
  const forged = Buffer.from(der);
  const at = forged.lastIndexOf(oid);
  forged[at + 7] = 3;
  expect(codeOf(() => keyOfSigningRequest(forged))).toBe('SIGNING_REQUEST_UNPROVEN');
});

test('every cut and every flipped byte of a request is refused with a code', async () => {
  const { der } = await requestWith(ALGORITHMS.ECDSAP256);
  for (let length = 0; length < der.length; length++)
    expect(codeOf(() => keyOfSigningRequest(der.subarray(0, length)))).toBe('SIGNING_REQUEST_MALFORMED');
  for (let at = 0; at < der.length; at++) {
    const broken = Uint8Array.from(der);
    broken[at] = (broken[at] ?? 0) ^ 0x01;
    expect(codeOf(() => keyOfSigningRequest(broken))).toMatch(/^SIGNING_REQUEST_/);
  }
});

test('a proof signs the uid of the pod, and no other', () => {
  const uid = '1f7c1f0e-6a3b-4c1e-9d1c-000000000001';
  const digest = (key: KeyObject) =>
    key.asymmetricKeyType === 'rsa'
      ? sign('sha256', Buffer.from(uid), { key, padding: constants.RSA_PKCS1_PSS_PADDING })
      : sign(key.asymmetricKeyType === 'ed25519' ? undefined : 'sha256', Buffer.from(uid), key);
  for (const { publicKey, privateKey } of [
    keyOf('RSA-3072'),
    generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
    generateKeyPairSync('ec', { namedCurve: 'secp521r1' }),
    generateKeyPairSync('ed25519'),
  ]) {
    const proof = digest(privateKey);
    expect(spkiOf(keyWithProof(spkiOf(publicKey), proof, uid)).equals(spkiOf(publicKey))).toBe(true);
    expect(codeOf(() => keyWithProof(spkiOf(publicKey), proof, `${uid}0`))).toBe('SIGNING_REQUEST_UNPROVEN');
  }
  expect(codeOf(() => keyWithProof(createHash('sha256').digest(), new Uint8Array(), uid))).toBe(
    'SIGNING_REQUEST_MALFORMED',
  );
});

test('a key that cannot sign, or not as a proof is signed, is refused with a code of its own', () => {
  for (const { publicKey } of [
    generateKeyPairSync('x25519'),
    generateKeyPairSync('x448'),
    generateKeyPairSync('ed448'),
    generateKeyPairSync('ec', { namedCurve: 'SM2' }),
    // The types of Node.js do not list it.
    generateKeyPairSync('dh' as 'x25519', { group: 'modp14' } as object),
    generateKeyPairSync('rsa-pss', { modulusLength: 2048, hashAlgorithm: 'sha512' }),
  ])
    expect(codeOf(() => keyWithProof(spkiOf(publicKey), Buffer.alloc(64), 'uid'))).toBe(
      'SIGNING_REQUEST_KEY_TYPE',
    );
});

test('certificates are issued for ECDSA P-256 and P-384 and for RSA, and for no other key', () => {
  const nameOf = (pair: { readonly publicKey: KeyObject }) => keyAlgorithmOf(pair.publicKey);
  expect(nameOf(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }))).toBe('ECDSA-P256');
  expect(nameOf(generateKeyPairSync('ec', { namedCurve: 'secp384r1' }))).toBe('ECDSA-P384');
  expect(nameOf(keyOf('RSA-3072'))).toBe('RSA-3072');
  expect(nameOf(generateKeyPairSync('ec', { namedCurve: 'secp521r1' }))).toBeUndefined();
  expect(nameOf(generateKeyPairSync('ed25519'))).toBeUndefined();
});
