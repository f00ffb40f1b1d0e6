import { generateKeyPairSync } from 'node:crypto';
import { day, hour, type Instant, instant, PrivateKey } from '@handover/material';
import { expect, test } from 'vitest';
import { authority, type Spec } from '../../material/test/mock-ca.ts';
import { whyItCannotSign } from './adoption-trial.ts';

const now: Instant = instant(Date.UTC(2030, 0, 1));
const year = 365 * day;
const trouble = (more: Partial<Spec>): string | undefined => {
  const dates = { notBefore: now - hour, notAfter: now + year };
  const { certificate, key } = authority('legacy', { ...dates, usages: ['keyCertSign'], ...more });
  return whyItCannotSign(certificate, PrivateKey.of(key.privateKey), now);
};

test.each<[string, Partial<Spec>]>([
  ['a plain root', {}],
  ['a root without key identifiers', { ski: 'none', aki: 'none' }],
  ['a root that ends in two hours', { notAfter: now + 2 * hour }],
])('%s can be taken over with its key', (_what, more) => {
  expect(trouble(more)).toBeUndefined();
});

test.each<[string, Partial<Spec>, RegExp]>([
  ['a CA that may sign no other CA', { pathLength: 0 }, /successor would be refused.*allows 0 CAs/],
  ['an expired one', { notBefore: now - year, notAfter: now - day }, /cannot be valid|expired/],
  ['one that is not valid yet', { notBefore: now + day }, /not valid yet/],
  ['one whose key may not sign certificates', { usages: ['digitalSignature'] }, /is not a CA/],
  ['one for clients only', { eku: ['clientAuth'] }, /not for TLS servers/],
  ['one with RSA of 1024 bits', { key: generateKeyPairSync('rsa', { modulusLength: 1024 }) }, /rsa 1024/],
  ['one on another curve', { key: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }) }, /secp256k1/],
])('%s is refused, with the reason', (_what, more, why) => {
  expect(trouble(more)).toMatch(why);
});
