import type { Policy } from '@handover/core';
import { day, duration, hour, minute, second } from '@handover/material';
import type { Traits } from './consumer.ts';
import { chooseFaults, type FaultName } from './faults.ts';
import type { Random } from './random.ts';
import { ELSEWHERE, fieldId, isSecret, SHARED, secretId } from './resources.ts';
import type { StrategyName } from './strategies.ts';

export interface Wishes {
  readonly strategy: StrategyName;
  /** Those of every world; undefined: drawn by lot. */
  readonly faults?: readonly FaultName[] | undefined;
  /** A fleet of this many hot consumers; undefined: a mixed one, drawn by lot. */
  readonly consumers?: number | undefined;
  /** Reload delays in milliseconds, dealt out in turn. */
  readonly delays?: readonly number[] | undefined;
}

/** Everything about one world that is decided before it begins. */
export interface Setup {
  readonly strategy: StrategyName;
  readonly faults: ReadonlySet<FaultName>;
  /** Faults happen in here, measured from the beginning. */
  readonly window: number;
  readonly policy: Omit<Policy, 'leaves' | 'bundles'>;
  /** X cannot be relied on: adoption without a key, or a presenter that strips it. */
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

const base: Traits = {
  id: '',
  reload: 'hot',
  ownersWord: false,
  blocks: true,
  declared: true,
  presents: [],
  verifies: [],
  stripsCross: false,
  evidence: 'none',
  delay: 30 * second,
  reportDelay: 0,
  stuck: undefined,
  clumsy: false,
  workload: true,
  pods: 1,
};

interface Lot {
  readonly random: Random;
  readonly reloadWithin: number;
  readonly strict: boolean;
  readonly found: boolean;
  readonly faults: ReadonlySet<FaultName>;
}

type Kind = (id: string, lot: Lot) => Traits;

const both = (id: string): Pick<Traits, 'id' | 'presents' | 'verifies'> => ({
  id,
  presents: [secretId(id)],
  verifies: [secretId(id)],
});
const withinSettle = ({ random, reloadWithin }: Lot): number => random.between(0, reloadWithin - 2 * second);
const clumsy = ({ faults, random }: Lot): boolean => faults.has('garbage') && random.chance(0.4);

const acknowledged: Kind = (id, lot) => ({
  ...base,
  ...both(id),
  evidence: 'acknowledged',
  // What it shows outranks every promise, so it may take its time.
  delay: lot.random.between(0, 2 * lot.reloadWithin),
  reportDelay: lot.random.between(0, 15 * second),
  clumsy: clumsy(lot),
  pods: lot.random.whole(1, 2),
});

const KINDS = {
  acknowledged,
  probed: (id, lot) => ({
    ...acknowledged(id, lot),
    evidence: 'probed',
  }),
  word: (id, lot) => ({
    ...base,
    ...both(id),
    ownersWord: true,
    delay: withinSettle(lot),
    pods: lot.random.whole(1, 2),
  }),
  unknown: (id, lot) => ({
    ...base,
    ...both(id),
    reload: 'unknown',
    // Nothing rests on its word where it is found; on one machine all that is not declared is taken to keep it.
    delay: lot.found ? lot.random.between(0, 2 * lot.reloadWithin) : withinSettle(lot),
    workload: lot.random.chance(0.7),
  }),
  restart: (id, lot) => ({
    ...base,
    ...both(id),
    reload: 'restart',
    pods: lot.random.whole(1, 3),
  }),
  restartVerifier: (id, lot) => ({
    ...base,
    id,
    verifies: [SHARED],
    reload: 'restart',
    pods: lot.random.whole(1, 3),
  }),
  apart: (id, lot) => ({
    ...acknowledged(id, lot),
    presents: [secretId(id)],
    verifies: [SHARED],
  }),
  wordApart: (id, lot) => ({
    ...base,
    id,
    ownersWord: true,
    presents: [secretId(id)],
    verifies: [SHARED],
    delay: withinSettle(lot),
  }),
  field: (id, { random }) => ({
    ...base,
    id,
    reload: 'field',
    verifies: [fieldId(id)],
    delay: random.between(0, 9 * second),
    workload: false,
  }),
  verifier: (id, lot) => ({
    ...acknowledged(id, lot),
    presents: [],
    verifies: [SHARED],
  }),
  wordVerifier: (id, lot) => ({
    ...base,
    id,
    ownersWord: true,
    verifies: [SHARED],
    delay: withinSettle(lot),
  }),
  presenter: (id, lot) => ({
    ...acknowledged(id, lot),
    presents: [secretId(id)],
    verifies: [],
  }),
  elsewhere: (id, lot) => ({
    ...base,
    id,
    blocks: false,
    verifies: [ELSEWHERE],
    delay: withinSettle(lot),
  }),
} as const satisfies Record<string, Kind>;

const FOUND: readonly [Kind, ...Kind[]] = [
  KINDS.acknowledged,
  KINDS.acknowledged,
  KINDS.acknowledged,
  KINDS.probed,
  KINDS.word,
  KINDS.word,
  KINDS.restart,
  KINDS.restart,
  KINDS.restartVerifier,
  KINDS.apart,
  KINDS.wordApart,
  KINDS.field,
  KINDS.verifier,
  KINDS.wordVerifier,
  KINDS.presenter,
  KINDS.elsewhere,
];

const DIRECTORY: readonly [Kind, ...Kind[]] = [
  KINDS.acknowledged,
  KINDS.word,
  KINDS.wordApart,
  KINDS.unknown,
  KINDS.verifier,
  KINDS.presenter,
];

const stuckOne = (id: string, lot: Lot): Traits => {
  const stuck = lot.faults.has('never-reloads') && lot.random.chance(0.7) ? 'never' : 'garbage';
  if (lot.random.chance(0.4)) return { ...acknowledged(id, lot), stuck, workload: false };
  // Nothing is promised about one that rests on `settled`, as it does on one machine, and does not reload.
  if (!lot.found || lot.random.chance(0.3))
    return { ...base, ...both(id), reload: 'restart', stuck: 'never', workload: false };
  return { ...base, ...both(id), reload: 'unknown', stuck, workload: false };
};

const consumersOf = (lot: Lot): readonly Traits[] => {
  const { random, faults, found } = lot;
  // Now and then a big fleet.
  const count = random.chance(0.01) ? random.whole(60, 150) : random.whole(2, 9);
  const kinds = found ? FOUND : DIRECTORY;
  const consumers: Traits[] = [];
  for (let n = 0; n < count; n++) {
    const made: Traits = { ...random.pick(kinds)(`c${n}`, lot), ...(found ? {} : { workload: false }) };
    // On one machine nothing is restarted but by hand, and a consumer need not be declared: it rests on `reloadWithin` all the same.
    const undeclared = !found && random.chance(0.4);
    consumers.push(
      undeclared
        ? { ...made, declared: false, evidence: 'none', clumsy: false, delay: withinSettle(lot) }
        : made,
    );
  }
  if (found && random.chance(0.1)) consumers.push(KINDS.unknown('unknown', lot));
  if (faults.has('never-reloads') || (faults.has('garbage') && random.chance(0.3)))
    consumers.push(stuckOne('stuck', lot));
  if (faults.has('strips')) consumers.push({ ...acknowledged('stripping', lot), stripsCross: true });
  if (faults.has('stranger')) {
    consumers.push({ ...base, id: 'stranger', declared: false, verifies: [SHARED], stuck: 'never' });
  }
  return consumers;
};

/** A fleet as its owner describes it: hot, acknowledging, each with its own delay. */
const fleetOf = (count: number, delays: readonly number[]): readonly Traits[] =>
  Array.from({ length: count }, (_, n) => ({
    ...base,
    ...both(`c${n}`),
    evidence: 'acknowledged',
    delay: delays[n % delays.length] ?? 0,
    punctual: true,
  }));

/** Faults that change who is in the fleet; where its owner has described it, they come only by name. */
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
  // What the design promises a verifier that nobody knows, X must be there to keep.
  if (drawn.has('adoption') || drawn.has('strips') || drawn.has('distrust')) drawn.delete('stranger');
  // Where nobody may be passed over, a CA can end under a rotation that is blocked: then all fail, as status has said.
  if (drawn.has('adoption') || drawn.has('strips') || drawn.has('distrust')) drawn.delete('expiry');
  // Whoever takes a CA away by hand where nothing else vouches for the new one breaks it himself.
  if (drawn.has('adoption') || drawn.has('strips') || drawn.has('distrust') || drawn.has('expiry'))
    drawn.delete('edits');
  // An adopted CA is replaced at once, one close to its end by its schedule.
  if (drawn.has('adoption') || drawn.has('expiry')) drawn.delete('schedule');
  const found = described || !ours || random.chance(0.7);
  // A process that starts while the clock is wrong cannot know it.
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
      // A process that is restarted onto a bundle that somebody has edited says that it holds what it was restarted for.
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
