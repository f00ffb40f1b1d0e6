import { generateKeyPairSync } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { format, inspect } from 'node:util';
import { expect, it } from 'vitest';
import { authority, leafOf, p256, p384, rsa } from '../test/mock-ca.ts';
import { encodePem, HandoverError, PrivateKey } from './index.ts';

const pair = p256();
const ca = authority('ca');
const pkcs8 = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const sec1 = pair.privateKey.export({ type: 'sec1', format: 'pem' }).toString();

const errorOf = (pem: string): HandoverError => {
  try {
    PrivateKey.parse(pem, 'tls.key');
  } catch (error) {
    if (error instanceof HandoverError) return error;
    throw error;
  }
  throw new Error('no error');
};

it('a private key is not refused for what OpenSSL remembers of a TLS context that could not be made', () => {
  expect(() => createSecureContext({ ecdhCurve: 'nope' })).toThrow();
  expect(PrivateKey.parse(pkcs8).algorithm).toBe('ECDSA-P256');
});

it('a private key is read from PKCS#8, SEC 1 and PKCS#1, and names its algorithm', () => {
  expect(PrivateKey.parse(pkcs8).algorithm).toBe('ECDSA-P256');
  expect(PrivateKey.parse(sec1).algorithm).toBe('ECDSA-P256');
  const curve = encodePem('EC PARAMETERS', Buffer.from('06082a8648ce3d030107', 'hex'));
  expect(PrivateKey.parse(curve + sec1).algorithm).toBe('ECDSA-P256');
  const pkcs1 = rsa().privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  expect(PrivateKey.parse(pkcs1.replaceAll('\n', '\r\n')).algorithm).toBe('RSA-2048');
  expect(PrivateKey.of(p384().privateKey).algorithm).toBe('ECDSA-P384');
  expect(PrivateKey.of(generateKeyPairSync('ed25519').privateKey).algorithm).toBe('Ed25519');
});

it('a private key is written as PKCS#8', () => {
  expect(PrivateKey.parse(sec1).exportPem()).toBe(pkcs8);
});

it('a private key knows its own certificate, by the name a certificate gives the key as well', () => {
  const leaf = leafOf(ca, 'a', { key: pair }).certificate;
  expect(PrivateKey.parse(pkcs8).matches(leaf)).toBe(true);
  expect(PrivateKey.parse(pkcs8).algorithm).toBe(leaf.keyAlgorithm);
  expect(PrivateKey.parse(pkcs8).matches(ca.certificate)).toBe(false);
  expect(PrivateKey.of(rsa().privateKey).matches(leaf)).toBe(false);
  expect(PrivateKey.of(p384().privateKey).matches(leaf)).toBe(false);
  expect(PrivateKey.parse(pkcs8).matches(leaf), 'the mismatch before leaves no trace').toBe(true);
});

it('a private key does not print, however one asks', () => {
  const key = PrivateKey.parse(pkcs8);
  for (const text of [
    String(key),
    `${key}`,
    JSON.stringify({ key }),
    inspect(key, { showHidden: true, depth: 9 }),
    format('%o %O %j %s', key, key, key, key),
    inspect([{ ...key }]),
  ]) {
    expect(text).not.toMatch(/BEGIN|MIG|KeyObject|handle/);
  }
  expect(JSON.stringify({ key })).toBe('{"key":"[private key]"}');
  expect(inspect(key)).toBe('[private key]');
});

it('a private key is refused with a code when it is something else, and never quoted', () => {
  const secret = pkcs8.split('\n')[1] ?? '';
  const damaged = encodePem('PRIVATE KEY', Buffer.from(secret, 'base64'));
  const encrypted = pair.privateKey
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    .toString();
  const cases: readonly (readonly [string, string])[] = [
    ['', 'KEY_MISSING'],
    ['hello', 'KEY_MISSING'],
    [pkcs8 + sec1, 'KEY_AMBIGUOUS'],
    [encrypted, 'KEY_ENCRYPTED'],
    [ca.certificate.pem, 'KEY_LABEL_REFUSED'],
    [pkcs8 + ca.certificate.pem, 'KEY_LABEL_REFUSED'],
    [damaged, 'KEY_MALFORMED'],
    [pkcs8.slice(0, 100), 'PEM_TRUNCATED'],
  ];
  for (const [pem, code] of cases) {
    const error = errorOf(pem);
    expect(error.code).toBe(code);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret.slice(0, 16));
  }
  expect(errorOf('').message).toContain('tls.key');
  expect(() => PrivateKey.of(pair.publicKey)).toThrowError(
    expect.objectContaining({ code: 'KEY_NOT_PRIVATE' }),
  );
});
