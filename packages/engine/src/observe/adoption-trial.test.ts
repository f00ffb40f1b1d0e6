import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { issueCa, issueLeaf } from '@handover/core';
import { day, hour, type Instant, instant, PrivateKey, parseCertificate } from '@handover/material';
import { expect, test } from 'vitest';
import { whyItCannotSign } from './adoption-trial.ts';

const now: Instant = instant(Date.UTC(2030, 0, 1));
const year = 365 * day;
const key = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const serial = (): Uint8Array => randomBytes(16);
const rootOf = (from: number, to: number) =>
  parseCertificate(
    issueCa({
      name: 'legacy',
      generation: 1,
      key,
      serial: serial(),
      notBefore: instant(now + from),
      notAfter: instant(now + to),
    }),
  );
const trouble = (from: number, to: number): string | undefined =>
  whyItCannotSign(rootOf(from, to), PrivateKey.of(key.privateKey), now);

test.each([
  ['a plain root', -hour, year],
  ['a root that ends in two hours', -hour, 2 * hour],
])('%s can be taken over with its key', (_what, from, to) => {
  expect(trouble(from, to)).toBeUndefined();
});

test.each([
  ['an expired CA', -year, -day, /cannot be valid|expired/],
  ['a CA that is not valid yet', day, year, /not valid yet/],
])('%s is refused, with the reason', (_what, from, to, why) => {
  expect(trouble(from, to)).toMatch(why);
});

test('a certificate that is no CA is refused, with the reason', () => {
  const root = rootOf(-hour, year);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const leaf = issueLeaf({
    issuer: root,
    issuerKey: key.privateKey,
    publicKey,
    serial: serial(),
    subject: { commonName: 'leaf' },
    dnsNames: ['leaf.test'],
    ipAddresses: [],
    uris: [],
    usages: ['server'],
    notBefore: root.notBefore,
    notAfter: root.notAfter,
  });
  expect(whyItCannotSign(parseCertificate(leaf), PrivateKey.of(privateKey), now)).toMatch(/./);
});
