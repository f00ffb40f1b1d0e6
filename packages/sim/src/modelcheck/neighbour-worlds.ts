import { duration } from '@handover/material';
import { worldOf } from './build.ts';
import { type ModelWorld, type Nature, TICK } from './model.ts';
import { hot, instantly, stubborn } from './natures.ts';

/** A workload of another namespace, and its two objects. Short waits, so that the bound is within the ages that a world tells apart. */
const evil: Nature = {
  reload: 'restart',
  presents: 'theirs',
  verifies: 'wide',
  outside: true,
  neverReloads: true,
};
/** Only presents: a verifier that misses two rotations is refused, and the plan says so before the second. */
const { verifies: _, ...presenting } = evil;
const besideEvil = {
  neighbour: ['theirs', 'wide'],
  bundles: ['wide'],
  budget: { rotations: 1, turns: 1 },
  policy: { reloadWithin: duration(TICK), cacheLag: duration(TICK) },
};

/** Worlds with a hostile owner in another namespace. */
export const neighbourWorlds: readonly ModelWorld[] = [
  worldOf('a hostile neighbour', {
    natures: { a: hot('sa'), far: evil },
    ...besideEvil,
    budget: { rotations: 1, turns: 1 },
  }),
  worldOf('a hostile neighbour, and distrust', {
    natures: { a: hot('sa'), far: evil },
    ...besideEvil,
    budget: { distrusts: 1, turns: 1 },
  }),
  worldOf('a hostile neighbour, instant', {
    natures: { a: hot('sa'), far: evil },
    ...besideEvil,
    policy: { ...besideEvil.policy, ...instantly },
  }),
  worldOf('a hostile neighbour beside restart-only pods', {
    natures: { a: { ...stubborn('sa'), pods: 1 }, far: evil },
    ...besideEvil,
    policy: { ...besideEvil.policy, maxConcurrentRollouts: 1 },
  }),
  worldOf('a hostile neighbour that speaks for an unknown presenter', {
    natures: {
      a: hot('sa'),
      shy: { reload: 'unknown', presents: 'sb', verifies: 'sb', hidden: true, neverReloads: true },
      far: evil,
    },
    ...besideEvil,
  }),
  worldOf('a hostile neighbour whose pod never restarts, and two rotations', {
    natures: { a: hot('sa'), far: presenting },
    neighbour: ['theirs'],
    timeless: true,
    budget: { rotations: 2, turns: 1 },
  }),
];
