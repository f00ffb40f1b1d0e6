// Issues 5,000 leaves. Pair by pair the check would not end in a test's time.
import { expect, test } from 'vitest';
import { fleet, verify } from '../../test/fleet.ts';

test('A fleet of 5,000 leaves has 25 million pairs counted, and a thousand that fail listed', async () => {
  const home = await fleet(5_000);
  const now = await verify(home);
  expect(now.pairCount).toBe(now.presenters.length * now.verifiers.length);
  expect(now.pairCount).toBeGreaterThan(25_000_000);
  expect(now).toMatchObject({ failingCount: 0, pairs: [] });
  const then = await verify(home, { distrust: [1] });
  expect(then.failingCount).toBe(then.pairCount);
  expect(then.pairs).toHaveLength(1_000);
});
