import { second } from '@handover/material';
import type { FaultName } from './faults.ts';
import type { Random } from './random.ts';
import { ELSEWHERE, elsewhereSecretId, fieldId, SHARED, secretId } from './resources.ts';
import type { Traits } from './traits.ts';

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

export interface Lot {
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
const withinReload = ({ random, reloadWithin }: Lot): number => random.between(0, reloadWithin - 2 * second);
const clumsy = ({ faults, random }: Lot): boolean => faults.has('garbage') && random.chance(0.4);

const acknowledged: Kind = (id, lot) => ({
  ...base,
  ...both(id),
  evidence: 'acknowledged',
  // Its evidence outranks every promise, so it may be late.
  delay: lot.random.between(0, 2 * lot.reloadWithin),
  reportDelay: lot.random.between(0, 15 * second),
  clumsy: clumsy(lot),
  pods: lot.random.whole(1, 2),
});

const foreign = (id: string): Traits => ({
  ...base,
  id,
  blocks: false,
  presents: [elsewhereSecretId(id)],
});

/**
 * Of another namespace. No step waits for it: it may show its old leaf for as long as that is valid. As a verifier it has `reloadWithin`, and the
 * cross-certificate for one rotation.
 */
const ELSEWHERES: readonly [Kind, ...Kind[]] = [
  (id, lot) => ({ ...foreign(id), presents: [], verifies: [ELSEWHERE], delay: withinReload(lot) }),
  (id, lot) => ({ ...foreign(id), verifies: [ELSEWHERE], ownersWord: true, delay: withinReload(lot) }),
  // Far later than a rotation takes that nothing holds up.
  (id, lot) => ({
    ...foreign(id),
    evidence: lot.random.pick(['acknowledged', 'probed']),
    delay: lot.random.between(0, 12 * lot.reloadWithin),
    reportDelay: lot.random.between(0, 15 * second),
    clumsy: clumsy(lot),
  }),
  (id, lot) => ({ ...foreign(id), reload: 'restart', pods: lot.random.whole(1, 3) }),
  // It never shows another leaf, whether it says so or not.
  (id, lot) => ({
    ...foreign(id),
    reload: lot.random.pick(['restart', 'unknown', 'hot']),
    stuck: 'never',
    workload: false,
  }),
];

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
    delay: withinReload(lot),
    pods: lot.random.whole(1, 2),
  }),
  unknown: (id, lot) => ({
    ...base,
    ...both(id),
    reload: 'unknown',
    // Where consumers are found, no step rests on its word; on one machine an undeclared consumer counts as reloading in time.
    delay: lot.found ? lot.random.between(0, 2 * lot.reloadWithin) : withinReload(lot),
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
    delay: withinReload(lot),
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
    delay: withinReload(lot),
  }),
  presenter: (id, lot) => ({
    ...acknowledged(id, lot),
    presents: [secretId(id)],
    verifies: [],
  }),
  elsewhere: (id, lot) => lot.random.pick(ELSEWHERES)(id, lot),
} as const satisfies Record<string, Kind>;

export const FOUND: readonly [Kind, ...Kind[]] = [
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

export const DIRECTORY: readonly [Kind, ...Kind[]] = [
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
  // Nothing is promised about a consumer that rests on `settled`, as on one machine, and does not reload.
  if (!lot.found || lot.random.chance(0.3))
    return { ...base, ...both(id), reload: 'restart', stuck: 'never', workload: false };
  return { ...base, ...both(id), reload: 'unknown', stuck, workload: false };
};

export const consumersOf = (lot: Lot): readonly Traits[] => {
  const { random, faults, found } = lot;
  // Rarely a big fleet.
  const count = random.chance(0.01) ? random.whole(60, 150) : random.whole(2, 9);
  const kinds = found ? FOUND : DIRECTORY;
  const consumers: Traits[] = [];
  for (let n = 0; n < count; n++) {
    const made: Traits = { ...random.pick(kinds)(`c${n}`, lot), ...(found ? {} : { workload: false }) };
    // On one machine Handover restarts nothing, and a consumer need not be declared: it rests on `reloadWithin` all the same.
    const undeclared = !found && random.chance(0.4);
    consumers.push(
      undeclared
        ? { ...made, declared: false, evidence: 'none', clumsy: false, delay: withinReload(lot) }
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

/** A fleet as asked for: hot, acknowledging, each with its own delay. */
export const fleetOf = (count: number, delays: readonly number[]): readonly Traits[] =>
  Array.from({ length: count }, (_, n) => ({
    ...base,
    ...both(`c${n}`),
    evidence: 'acknowledged',
    delay: delays[n % delays.length] ?? 0,
    punctual: true,
  }));
