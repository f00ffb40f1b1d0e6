import { day, instant } from '@handover/material';
import { expect, test } from 'vitest';
import {
  CA,
  certificate,
  crossOf,
  KEYS,
  leafOf,
  NOW,
  record,
  secret,
  TO_TEAM,
  watching,
} from '../../test/cert-manager/lent.ts';

const OTHER = { spec: { secretName: 'web', issuerRef: { name: 'x', kind: 'Issuer' } } };
const LENT = record({ lentUntil: instant(NOW + 60 * day) });

test.each(['prod', 'team'])(
  'a Secret of namespace %s with a leaf of the Authority counts, whichever resource asks for it now',
  async (namespace) => {
    const leaf = await leafOf(CA, KEYS.ours);
    const secrets = [secret(namespace, leaf)];
    const standing = async (certificates: readonly ReturnType<typeof certificate>[]) =>
      (await watching()({ certificates, secrets }, LENT)).map(({ leaf: held, writtenBy, elsewhere }) => {
        expect(held?.notAfter).toBe(leaf.notAfter);
        expect(elsewhere).toBe(namespace === 'team' ? true : undefined);
        return [writtenBy?.asked, writtenBy?.remark];
      });
    expect(await standing([certificate(namespace)])).toEqual([['can', undefined]]);
    expect(await standing([certificate(namespace, OTHER)])).toEqual([
      ['never', 'Certificate web names Issuer x: change its issuerRef to Authority prod/mesh'],
    ]);
    expect(await standing([])).toEqual([
      ['never', 'no Certificate asks for it any more: delete the Secret once no program uses it'],
    ]);
    const moved = { spec: { ...certificate(namespace).spec, secretName: 'web-2' } };
    expect(await standing([certificate(namespace, moved)])).toHaveLength(1);
  },
);

test('a copy of a leaf in a namespace that the Authority does not issue to does not count', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const view = { certificates: [certificate('team')], secrets: [secret('team', leaf)] };
  expect(await watching(TO_TEAM)(view, LENT)).toHaveLength(1);
  expect(await watching({})(view, LENT)).toEqual([]);
  expect(await watching({})({ secrets: view.secrets }, LENT)).toEqual([]);
});

test('of one leaf copied into 2,000 Secrets of another namespace as many count as make the state remember its end in place of names', async () => {
  const leaf = await leafOf(CA, KEYS.ours);
  const copies = Array.from({ length: 2_000 }, (_, index) => ({
    ...secret('team', leaf),
    name: `copy-${index}`,
  }));
  const seen = await watching()({ secrets: [...copies, secret('prod', leaf)] }, LENT);
  expect(seen.filter(({ elsewhere }) => elsewhere === true)).toHaveLength(501);
  // Those of its own namespace all count.
  expect(seen.map(({ id }) => id)).toContain('prod/secrets/web');
});

test('a CA in a Secret of another namespace does not count: it is a copy of a cross-certificate or an anchor', async () => {
  for (const copy of [CA, await crossOf()])
    expect(
      await watching()({ certificates: [certificate('team')], secrets: [secret('team', copy)] }, LENT),
    ).toEqual([]);
});

test('a leaf in another namespace counts until it ends, even if maxLifetime is a day by now', async () => {
  const leaf = await leafOf(CA, KEYS.ours, 60 * day);
  const view = { certificates: [certificate('team')], secrets: [secret('team', leaf)] };
  const [seen] = await watching({ ...TO_TEAM, maxLifetime: '1d' })(view, LENT);
  expect(seen).toMatchObject({ elsewhere: true, leaf: { notAfter: leaf.notAfter } });
  expect(seen?.writtenBy?.namespace).toBe('team');
});

test('a copy of a longer leaf in another namespace counts no longer than the last leaf for cert-manager', async () => {
  const leaf = await leafOf(CA, KEYS.ours, 2000 * day);
  const view = { secrets: [secret('team', leaf)] };
  const [seen] = await watching()(view, LENT);
  expect(seen?.leaf?.notAfter).toBe(NOW + 60 * day);
});

test('a leaf of an adopted CA in another namespace counts for maxLifetime or 90 days, and so does one of a CA whose last leaf is not known', async () => {
  const leaf = await leafOf(CA, KEYS.ours, 2000 * day);
  const view = { certificates: [certificate('team')], secrets: [secret('team', leaf)] };
  for (const state of [record({ adopted: true }), record()]) {
    expect((await watching()(view, state))[0]?.leaf?.notAfter).toBe(NOW + 90 * day);
    const short = await watching({ ...TO_TEAM, maxLifetime: '1d' })(view, state);
    expect(short[0]?.leaf?.notAfter).toBe(NOW + day);
  }
  // What was lent since it was adopted is covered too.
  const lent = record({ adopted: true, lentUntil: instant(NOW + 200 * day) });
  expect((await watching()(view, lent))[0]?.leaf?.notAfter).toBe(NOW + 200 * day);
});
