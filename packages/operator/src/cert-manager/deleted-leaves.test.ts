import { day, hour, instant } from '@handover/material';
import { expect, test } from 'vitest';
import {
  CA,
  certificate,
  FORGED_CA,
  KEYS,
  leafOf,
  NOW,
  record,
  secret,
  watching,
} from '../../test/cert-manager/lent.ts';

const STATE = record({ role: 'current', lentUntil: instant(NOW + 90 * day) });
const LATER = instant(NOW + hour);
const leaf = await leafOf(CA, KEYS.ours);
const there = { certificates: [certificate('prod')], secrets: [secret('prod', leaf)] };

const gone = {
  id: 'prod/secrets/web',
  anchors: [{ fingerprint: CA.fingerprint, since: LATER }],
  leaf: { issuer: CA.fingerprint, issuerSince: LATER, writtenAt: LATER },
  writtenBy: { asked: 'never', gone: true },
};

test.each([
  ['was deleted with its Certificate', async () => ({})],
  [
    'has a leaf of another issuer now',
    async () => ({
      certificates: [
        certificate('prod', { spec: { secretName: 'web', issuerRef: { name: 'x', kind: 'Issuer' } } }),
      ],
      secrets: [secret('prod', await leafOf(FORGED_CA, KEYS.theirs))],
    }),
  ],
])('a Secret that %s stays an object of the plan until its leaf has ended', async (_how, now) => {
  const look = watching();
  expect(await look(there, STATE)).toHaveLength(1);
  for (const hours of [1, 2])
    expect(await look(await now(), STATE, instant(NOW + hours * hour))).toMatchObject([gone]);
  expect(await look(await now(), STATE, instant(leaf.notAfter + hour - 1))).toHaveLength(1);
  expect(await look(await now(), STATE, instant(leaf.notAfter + hour))).toEqual([]);
});

test('a Secret that was made anew is as old as the first of that name', async () => {
  const look = watching();
  const old = new Date(NOW - day).toISOString();
  const anew = {
    metadata: { ...certificate('prod').metadata, creationTimestamp: new Date(LATER).toISOString() },
  };
  const first = { metadata: { ...certificate('prod').metadata, creationTimestamp: old } };
  await look({ ...there, certificates: [certificate('prod', first)] }, STATE);
  await look({}, STATE, LATER);
  const secrets = [{ ...secret('prod', leaf), createdAt: LATER }];
  const [seen] = await look({ certificates: [certificate('prod', anew)], secrets }, STATE, LATER);
  expect(seen?.writtenBy).toMatchObject({ asked: 'can', since: NOW - day });
  expect(seen?.writtenBy?.gone).toBeUndefined();
  const [other] = await watching()({ certificates: [certificate('prod', anew)], secrets }, STATE, LATER);
  expect(other?.writtenBy?.since).toBe(LATER);
});

test('the 1,000 newest deleted Secrets are remembered, and the oldest is forgotten first', async () => {
  const look = watching();
  const many = Array.from({ length: 1_001 }, (_, index) => ({ ...secret('prod', leaf), name: `s${index}` }));
  expect(await look({ secrets: many }, STATE)).toHaveLength(1_001);
  await look({ secrets: many.slice(1) }, STATE, LATER);
  const left = await look({}, STATE, LATER);
  expect(left).toHaveLength(1_000);
  expect(left.map(({ id }) => id)).not.toContain('prod/secrets/s0');
});

test('a Secret is forgotten with the CA that signed its leaf', async () => {
  const look = watching();
  await look(there, STATE);
  const retired = { ...STATE, state: { ...STATE.state, generations: [] } };
  expect(await look({}, retired, LATER)).toEqual([]);
  expect(await look({}, STATE, LATER)).toEqual([]);
});

test('a deleted Secret of another namespace is forgotten', async () => {
  const look = watching();
  expect(
    await look({ certificates: [certificate('team')], secrets: [secret('team', leaf)] }, STATE),
  ).toHaveLength(1);
  expect(await look({}, STATE, LATER)).toEqual([]);
});
