import type { Policy } from '@handover/core';
import { day, duration, hour, minute, second } from '@handover/material';
import { chooseFaults, type FaultName } from './faults.ts';
import { consumersOf, DIRECTORY, FOUND, fleetOf, type Lot } from './fleet.ts';
import type { Random } from './random.ts';
import { isSecret, SHARED } from './resources.ts';
import type { StrategyName } from './strategies.ts';
import type { Traits } from './traits.ts';

export interface Wishes {
  readonly strategy: StrategyName;
  /** Faults of every world; undefined: random. */
  readonly faults?: readonly FaultName[] | undefined;
  /** A fleet of this many hot consumers; undefined: a random, mixed one. */
  readonly consumers?: number | undefined;
  /** Reload delays in milliseconds, assigned in turn. */
  readonly delays?: readonly number[] | undefined;
}

/** Everything about one world that is decided before it begins. */
export interface Setup {
  readonly strategy: StrategyName;
  readonly faults: ReadonlySet<FaultName>;
  /** Faults happen within this time from the beginning. */
  readonly window: number;
  readonly policy: Omit<Policy, 'leaves' | 'bundles'>;
  /** No cross-certificate helps: adoption without a key, or a presenter that strips it. */
  readonly strict: boolean;
  readonly leafLifetime: number;
  readonly consumers: readonly Traits[];
  readonly newcomers: readonly Traits[];
  /** Objects with a leaf, and objects with only a bundle. */
  readonly secrets: readonly string[];
  readonly bundles: readonly string[];
  readonly pace: number;
  readonly gap: number;
}

/** Faults that change the fleet: with --consumers or --delays they happen only when asked for by name. */
const OF_THE_FLEET: readonly FaultName[] = [
  'never-reloads',
  'garbage',
  'distrust',
  'newcomers',
  'adoption',
  'strips',
  'stranger',
];

export const setUp = (random: Random, wishes: Wishes): Setup => {
  const ours = wishes.strategy === 'phased' || wishes.strategy === 'instant';
  const described = wishes.consumers !== undefined || wishes.delays !== undefined;
  const drawn = new Set(ours ? chooseFaults(random, wishes.faults) : []);
  if (described && wishes.faults === undefined) for (const name of OF_THE_FLEET) drawn.delete(name);
  // An unknown verifier is covered by the cross-certificate alone.
  if (drawn.has('adoption') || drawn.has('strips') || drawn.has('distrust')) drawn.delete('stranger');
  // Where gate 1 has to wait for every verifier, a CA can expire during a blocked rotation: then all fail, as status has warned.
  if (drawn.has('adoption') || drawn.has('strips') || drawn.has('distrust')) drawn.delete('expiry');
  // An edit that removes a CA breaks handshakes itself where no cross-certificate covers the new one.
  if (drawn.has('adoption') || drawn.has('strips') || drawn.has('distrust') || drawn.has('expiry'))
    drawn.delete('edits');
  // An adopted CA is replaced at once, and one close to its end by the schedule.
  if (drawn.has('adoption') || drawn.has('expiry')) drawn.delete('schedule');
  const found = described || !ours || random.chance(0.7);
  // A process that starts while the clock is wrong cannot notice it.
  if (drawn.has('clock-leaps') && wishes.faults === undefined)
    for (const name of ['crash', 'two-controllers'] as const) drawn.delete(name);
  if (!found) drawn.delete('neighbour');
  if (!found) drawn.delete('strips');
  const reloadWithin = random.pick([minute, 3 * minute]);
  const strict = drawn.has('adoption') || drawn.has('strips');
  const lot: Lot = { random, reloadWithin, strict, found, faults: drawn };
  const fleet = described || !ours;
  const consumers = fleet
    ? fleetOf(wishes.consumers ?? 6, wishes.delays ?? [0, 30 * second, 90 * second])
    : consumersOf(lot);
  const newcomers = drawn.has('newcomers')
    ? Array.from({ length: random.whole(1, 3) }, (_, n) =>
        found
          ? random.pick(FOUND)(`new${n}`, lot)
          : { ...random.pick(DIRECTORY)(`new${n}`, lot), workload: false },
      )
    : [];
  const objects = new Set(consumers.flatMap((one) => [...one.presents, ...one.verifies]));
  const secrets = [...objects].filter(isSecret);
  const big = consumers.length > 50;
  return {
    strategy: wishes.strategy,
    faults: drawn,
    window: described ? 10 * minute : random.between(8 * minute, 25 * minute),
    policy: {
      lifetime: duration(365 * day),
      rotate: { at: 0.8 },
      strategy: wishes.strategy === 'instant' ? 'Instant' : 'Phased',
      reloadWithin: duration(reloadWithin),
      // A process that restarts with an edited bundle claims by its stamp to hold the CA that it was restarted for.
      onBlocked: random.pick(drawn.has('edits') ? ['Wait'] : ['Wait', 'Wait', 'Restart', 'Proceed']),
      patience: duration(random.pick([10 * minute, 24 * hour])),
      paused: false,
      maxConcurrentRollouts: random.whole(1, 3),
      cacheLag: duration(found ? 10 * second : 0),
      consumersFound: found,
    },
    strict,
    leafLifetime: random.pick([6 * hour, 24 * hour, 90 * day]),
    consumers,
    newcomers,
    secrets,
    bundles: [SHARED, ...[...objects].filter((id) => !isSecret(id) && id !== SHARED)],
    pace: big ? 2 * second : random.between(200, 1000),
    gap: big ? 20 : 500,
  };
};
