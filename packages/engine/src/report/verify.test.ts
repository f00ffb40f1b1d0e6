import type * as material from '@handover/material';
import { expect, test, vi } from 'vitest';
import { fleet, verify } from '../../test/fleet.ts';

const checks = vi.hoisted(() => ({ count: 0 }));
vi.mock('@handover/material', async (original) => {
  const real = await original<typeof material>();
  const verifyChain: typeof real.verifyChain = (asked) => {
    checks.count++;
    return real.verifyChain(asked);
  };
  return { ...real, verifyChain };
});

test('A small fleet is reported pair by pair', async () => {
  const home = await fleet(3);
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

/** Tier system has a fleet of 5,000. */
test('A fleet with more than 10,000 pairs has all pairs counted, and a thousand that fail listed', async () => {
  const home = await fleet(101);
  checks.count = 0;
  const now = await verify(home);
  expect(now.pairCount).toBe(now.presenters.length * now.verifiers.length);
  expect(now.pairCount).toBeGreaterThan(10_000);
  expect(now).toMatchObject({ failingCount: 0, pairs: [] });
  const then = await verify(home, { distrust: [1] });
  expect(then.failingCount).toBe(then.pairCount);
  expect(then.pairs).toHaveLength(1_000);
  // Not pair by pair: each chain was checked for two usages against the bundles of now and of the next step.
  expect([now.columns.length, then.columns.length]).toEqual([1, 1]);
  expect(checks.count).toBeLessThanOrEqual(now.presenters.length * 2 * 5);
  expect(then.pairs[0]).toMatchObject({ now: { ok: true }, next: { ok: false } });
});
