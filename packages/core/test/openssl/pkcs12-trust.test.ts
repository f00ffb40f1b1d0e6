import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { hour, instant, parseCertificate, parseCertificates } from '@handover/material';
import { expect, test } from 'vitest';
import { Password } from '../../src/formats/password.ts';
import { PKCS12_PROFILES, type Pkcs12Profile, writeTrustStore } from '../../src/formats/pkcs12-trust.ts';
import { encryptRc2 } from '../../src/formats/rc2.ts';
import { generateKey, issueCa, localSigner } from '../../src/issue/index.ts';

// Against: the system's openssl with its legacy provider.

const trusted = await Promise.all(
  ['one', 'two', 'three'].map(async (name) => ({
    alias: `${name}|CN=${name}`,
    certificate: parseCertificate(
      await issueCa({
        name,
        generation: 1,
        signer: localSigner(generateKey('ECDSA-P256').privateKey),
        serial: randomBytes(16),
        notBefore: instant(Date.now() - hour),
        notAfter: instant(Date.now() + hour),
      }),
    ),
  })),
);
const WORD = Password.open('pkcs12-password');

const read = (store: Uint8Array, word: string, ...more: readonly string[]): string =>
  execFileSync('openssl', ['pkcs12', '-nokeys', '-passin', `pass:${word}`, '-legacy', ...more], {
    input: store,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
const fingerprints = (pem: string): readonly string[] =>
  parseCertificates(pem).certificates.map(({ fingerprint }) => fingerprint);

test.each(PKCS12_PROFILES)(
  'openssl reads a truststore of profile %s with its password, and with no other',
  (profile) => {
    const store = writeTrustStore(trusted, { password: WORD, profile });
    expect(fingerprints(read(store, 'pkcs12-password'))).toEqual(
      trusted.map(({ certificate }) => certificate.fingerprint),
    );
    expect(() => read(store, 'another word')).toThrow(/invalid password|mac verify/i);
  },
);

test('without a password the truststore is open, and has no MAC', () => {
  const store = writeTrustStore(trusted, undefined);
  expect(fingerprints(read(store, '', '-nomacver'))).toHaveLength(3);
});

test('the same content gives the same bytes; another profile, password or certificate gives others', () => {
  const sum = (profile: Pkcs12Profile, password = WORD, some = trusted): string =>
    createHash('sha256').update(writeTrustStore(some, { password, profile })).digest('hex');
  const all = [
    ...PKCS12_PROFILES.map((profile) => sum(profile)),
    sum('LegacyRC2', Password.open('x')),
    sum('LegacyRC2', WORD, trusted.slice(1)),
  ];
  expect(new Set(all).size).toBe(all.length);
  expect(sum('LegacyRC2')).toBe(all[0]);
});

test('RC2 pads as PKCS#7: a whole block of padding behind whole blocks', () => {
  const key = Buffer.from('0102030405', 'hex');
  expect(encryptRc2(key, Buffer.alloc(8), Buffer.alloc(7))).toHaveLength(8);
  expect(encryptRc2(key, Buffer.alloc(8), Buffer.alloc(8))).toHaveLength(16);
});
