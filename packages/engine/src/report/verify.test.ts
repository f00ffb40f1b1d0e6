import type * as material from '@handover/material';
import { expect, test, vi } from 'vitest';
import { catalogue, on, World } from '../../test/world.ts';
import { converge, type Home, type Requests, verifyAuthority } from '../index.ts';

const checks = vi.hoisted(() => ({ count: 0 }));
vi.mock('@handover/material', async (original) => {
  const real = await original<typeof material>();
  const verifyChain: typeof real.verifyChain = (asked) => {
    checks.count++;
    return real.verifyChain(asked);
  };
  return { ...real, verifyChain };
});

const ID = 'default/mesh';
const fleet = (leaves: number) =>
  catalogue(
    [
      'apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: mesh}\nspec: {rotation: {reloadWithin: 20s}}\n',
      ...Array.from(
        { length: leaves },
        (_, n) =>
          `apiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: l${n}}\nspec: {authority: mesh, dnsNames: [l${n}]}\n`,
      ),
    ].join('---\n'),
  );

const begun = async (leaves: number) => {
  const world = new World();
  const declared = fleet(leaves);
  await converge(on(world.home, declared), ID);
  return on(world.home, declared);
};

const verify = async (home: Home, asked?: Partial<Requests>) =>
  verifyAuthority(home, await home.fresh(), ID, asked);

test('A small fleet is told pair by pair', async () => {
  const home = await begun(3);
  const now = await verify(home);
  expect(now.pairs).toHaveLength(now.presenters.length * now.verifiers.length);
  expect(now).toMatchObject({ pairCount: now.pairs.length, failingCount: 0 });
  const then = await verify(home, { distrust: [1] });
  expect(then.pairs).toHaveLength(then.presenters.length * then.verifiers.length);
  expect(then.failingCount).toBe(then.pairs.filter(({ now, next }) => !now.ok || !next.ok).length);
  expect(then.failingCount).toBeGreaterThan(0);
  // Leaves have no subject.
  const reasons = then.pairs.flatMap(({ next }) => next.reason ?? []);
  expect(reasons.join('\n')).toMatch(/the leaf's issuer, CN=.+, is not in the bundle/);
});

test('Of 5,000 leaves, 25 million pairs are counted and a thousand that fail are told', async () => {
  const home = await begun(5_000);
  checks.count = 0;
  const now = await verify(home);
  expect(now.pairCount).toBe(now.presenters.length * now.verifiers.length);
  expect(now.pairCount).toBeGreaterThan(25_000_000);
  expect(now).toMatchObject({ failingCount: 0, pairs: [] });
  const then = await verify(home, { distrust: [1] });
  expect(then.failingCount).toBe(then.pairCount);
  expect(then.pairs).toHaveLength(1_000);
  // Not pair by pair: each chain was checked for two usages against the bundles of now and of the next step.
  expect([now.columns.length, then.columns.length]).toEqual([1, 1]);
  expect(checks.count).toBeLessThanOrEqual(now.presenters.length * 2 * 5);
  expect(then.pairs[0]).toMatchObject({ now: { ok: true }, next: { ok: false } });
});
