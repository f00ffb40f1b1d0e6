import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { issueCa, issueLeaf, localSigner } from '@handover/core';
import { day, hour, type Instant, instant, PrivateKey, parseCertificate } from '@handover/material';
import { expect, test } from 'vitest';
import { whyItCannotSign } from './adoption-trial.ts';

const now: Instant = instant(Date.UTC(2030, 0, 1));
const year = 365 * day;
const key = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const serial = (): Uint8Array => randomBytes(16);
const signer = localSigner(key.privateKey);
const rootOf = async (from: number, to: number) =>
  parseCertificate(
    await issueCa({
      name: 'legacy',
      generation: 1,
      signer,
      serial: serial(),
      notBefore: instant(now + from),
      notAfter: instant(now + to),
    }),
  );
const trouble = async (from: number, to: number): Promise<string | undefined> =>
  whyItCannotSign(await rootOf(from, to), PrivateKey.of(key.privateKey), now);

test.each([
  ['a plain root', -hour, year],
  ['a root that ends in two hours', -hour, 2 * hour],
])('the adoption of %s with its key is accepted', async (_what, from, to) => {
  expect(await trouble(from, to)).toBeUndefined();
});

test.each([
  ['an expired CA', -year, -day, /cannot be valid|expired/],
  ['a CA that is not valid yet', day, year, /not valid yet/],
])('the adoption of %s is refused, with the reason', async (_what, from, to, why) => {
  expect(await trouble(from, to)).toMatch(why);
});

test('the adoption of a certificate that is no CA is refused, with the reason', async () => {
  const root = await rootOf(-hour, year);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const leaf = await issueLeaf({
    issuer: root,
    signer,
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
  expect(await whyItCannotSign(parseCertificate(leaf), PrivateKey.of(privateKey), now)).toMatch(/./);
});
