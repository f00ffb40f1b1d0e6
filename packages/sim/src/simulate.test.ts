import { beforeAll, describe, expect, it } from 'vitest';
import { FAULTS } from './faults.ts';
import { addOutcomes, type RunOutcome, runSeed, runSeeds, trace } from './simulate.ts';
import { simulate } from './threads.ts';

describe('our strategies, with everything going wrong', () => {
  // Seeds that meet every fault; CI runs 2,000 of each strategy.
  let phased: RunOutcome;
  let instant: RunOutcome;
  beforeAll(async () => {
    phased = await runSeeds({ strategy: 'phased', seeds: 12, from: 101 });
    instant = await runSeeds({ strategy: 'instant', seeds: 18, from: 1001 });
  });

  it('our strategies fail no handshake, and end or name a blocker', () => {
    expect(phased.firstFailure).toBeNull();
    expect(instant.firstFailure).toBeNull();
    expect([phased.failures, instant.failures]).toEqual([0, 0]);
  });

  it('our strategies rotate in most worlds, and are blocked in some', () => {
    for (const { rotations, handshakes, blocked } of [phased, instant]) {
      expect(rotations).toBeGreaterThan(8);
      expect(handshakes).toBeGreaterThan(3_000);
      expect(blocked).toBeGreaterThan(0);
      expect(blocked).toBeLessThan(8);
    }
  });

  it.each(FAULTS)('our strategies meet the fault %s', (name) => {
    expect(addOutcomes(phased, instant).faults[name]).toBeGreaterThan(0);
  });
});

describe('worlds that once found a fault of the planner', () => {
  it('worlds that distrust a CA which slow consumers have not acknowledged yet end without a failure', async () => {
    const options = { consumers: 4, delays: [5, 50], faults: ['distrust'] } as const;
    expect((await runSeeds({ strategy: 'phased', seeds: 45, ...options })).firstFailure).toBeNull();
  });

  it('worlds that ask for a Leaf while an adopted CA cannot issue one end without a failure', async () => {
    const faults = ['adoption', 'newcomers'] as const;
    expect((await runSeeds({ strategy: 'phased', seeds: 10, faults })).firstFailure).toBeNull();
    expect((await runSeeds({ strategy: 'phased', seeds: 8, from: 30, faults })).firstFailure).toBeNull();
  });

  it('worlds that start a pod from an old cache just after the clock has leapt end without a failure', async () => {
    const faults = ['clock-jumps', 'newcomers', 'evictions'] as const;
    expect((await runSeeds({ strategy: 'phased', seeds: 20, from: 220, faults })).firstFailure).toBeNull();
  });
});

describe('worlds that once found a fault of the engine', () => {
  it.each([70, 80])(
    'worlds that write a leaf between the beginning of a look and its list end without a failure (seeds from %i)',
    async (from) => {
      const faults = ['stale-reads', 'newcomers', 'second-rotation', 'two-controllers'] as const;
      const outcome = await runSeeds({ strategy: 'phased', seeds: 10, from, faults });
      expect(outcome.firstFailure).toBeNull();
    },
  );
});

it('workloads of another namespace get leaves of the new CA, and the old one is dropped once they show them', async () => {
  const lines = await trace(27, { strategy: 'phased', faults: [] });
  const first = (text: RegExp): number => lines.findIndex((line) => text.test(line));
  const written = first(/elsewhere\/secrets\/\w+ is written: \[leaf of 2/);
  const dropped = first(/"kind":"drop","generation":1/);
  expect(written).toBeGreaterThan(0);
  expect(dropped).toBeGreaterThan(Math.max(written, first(/"kind":"retire","generation":1,"retain"/)));
});

it('a seed gives the same answer every time', async () => {
  for (const seed of [1, 2, 3, 17]) {
    expect(await runSeed(seed, { strategy: 'phased' })).toEqual(await runSeed(seed, { strategy: 'phased' }));
  }
  const lines = await trace(3, { strategy: 'phased' });
  // Leaf fingerprints in stamps are the only thing that signatures change.
  const plain = (text: readonly string[]) => text.map((line) => line.replaceAll(/"leaf":"[0-9a-f+]*"/g, ''));
  expect(plain(await trace(3, { strategy: 'phased' }))).toEqual(plain(lines));
});

it('a seed gives the same report of a failure every time', async () => {
  const once = async () => (await runSeed(5, { strategy: 'replace' })).firstFailure;
  expect(await once()).not.toBeNull();
  expect(await once()).toEqual(await once());
});

describe('strategies that must fail', () => {
  it.each(['replace', 'carry-over'] as const)(
    'strategy %s fails, and the first failing pair is named',
    async (strategy) => {
      const report = await simulate({ strategy, seeds: 10 });
      expect(report).toMatchObject({ strategy, seeds: 10, rotations: 10 });
      expect(report.failures).toBeGreaterThan(0);
      expect(report.firstFailure).toMatchObject({
        seed: 1,
        kind: 'handshake',
        presenter: expect.stringMatching(/^c\d-0$/),
        verifier: expect.stringMatching(/^c\d-0$/),
        chain: ['leaf of 2'],
        bundle: ['1'],
        reason: expect.stringContaining('is not in the bundle'),
      });
    },
  );
});

it('a fleet of 300 consumers with delays up to 90 s, as its owner describes it, goes through without a failure', async () => {
  const { rotations, failures, blocked } = await runSeed(1, {
    strategy: 'phased',
    consumers: 300,
    delays: [0, 30, 90],
  });
  expect({ failures, blocked }).toEqual({ failures: 0, blocked: 0 });
  expect(rotations).toBeGreaterThan(0);
});
