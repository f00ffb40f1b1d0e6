import { instant, second } from '@handover/material';
import { expect, test } from 'vitest';
import { CreationDates } from './creation-dates.ts';
import type { Responsibilities } from './responsibilities.ts';
import type { ConsumerFound } from './snapshot.ts';
import { WatchedClock } from './watched-clock.ts';

const world = () => {
  const state = { shown: 1_000_000, passed: 0 };
  const clock = new WatchedClock(
    () => instant(state.shown),
    () => state.passed,
    { tolerance: second },
  );
  const pass = (ms: number, jump = 0): void => {
    state.passed += ms;
    state.shown += ms + jump;
  };
  clock.now();
  return { clock, pass };
};

test('A clock that is watched runs evenly as long as it goes with our own', () => {
  const { clock, pass } = world();
  pass(3_600_000, 900);
  expect(clock.steadySince()).toBeUndefined();
  expect(clock.setBacks()).toEqual([]);
});

test('A clock that is watched has run evenly only since it leapt ahead', () => {
  const { clock, pass } = world();
  pass(1_000, 60_000);
  expect(clock.steadySince()).toBe(1_061_000);
  expect(clock.setBacks()).toEqual([]);
});

test('A clock that is watched is doubted after it leapt ahead by more than an hour, until it has run evenly for ten minutes', () => {
  const { clock, pass } = world();
  pass(1_000, 3_600_000);
  expect(clock.doubt()).toBeUndefined();
  pass(1_000, 3_600_001);
  expect(clock.doubt()).toEqual({ since: 8_202_001, before: 4_602_000, until: 8_802_001 });
  pass(599_999);
  expect(clock.doubt()).toBeDefined();
  pass(1);
  expect(clock.doubt()).toBeUndefined();
});

test('A clock that is watched is doubted no longer once it is set back', () => {
  const { clock, pass } = world();
  pass(1_000, 86_400_000);
  expect(clock.doubt()).toBeDefined();
  pass(1_000, -86_400_000);
  expect(clock.doubt()).toBeUndefined();
});

test('A clock that is watched is doubted for longer when it leaps again meanwhile', () => {
  const { clock, pass } = world();
  pass(1_000, 86_400_000);
  clock.now();
  pass(500_000, 10_000);
  expect(clock.doubt()?.until).toBe(clock.now() + 600_000);
});

test('A clock that is watched remembers between which times it was set back', () => {
  const { clock, pass } = world();
  pass(1_000, -300_000);
  expect(clock.steadySince()).toBe(701_000);
  pass(400_000);
  expect(clock.setBacks()).toEqual([{ from: 1_001_000, to: 701_000 }]);
  expect(clock.steadySince()).toBe(701_000);
});

const pods = (...dates: readonly number[]): readonly ConsumerFound[] => [
  {
    id: 'web',
    reload: 'unknown',
    ownersWord: false,
    blocks: true,
    presents: [],
    verifies: [],
    workload: undefined,
    instances: dates.map((date) => ({
      uid: `at-${date}`,
      createdAt: instant(date),
      ready: true,
      stamp: undefined,
      proofs: [],
    })),
  },
];

test('a pod from before the clock was set back has no date, even if no pass came until the clock had caught up', async () => {
  const { clock, pass } = world();
  const seen = new CreationDates(clock).of({ consumers: async () => pods(500_000, 900_000, 1_050_000) });
  pass(1_000, -300_000);
  clock.now();
  pass(400_000);
  const [web] = await seen.consumers({} as Responsibilities, undefined, clock.now(), {
    orphans: [],
    issuers: new Map(),
  });
  expect(web?.instances.map(({ createdAt }) => createdAt)).toEqual([500_000, undefined, 1_050_000]);
});
