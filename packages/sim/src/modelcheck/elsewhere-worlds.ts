import { duration, minute } from '@handover/material';
import { worldOf } from './build.ts';
import { type ModelWorld, type Nature, TICK } from './model.ts';
import { hot, instantly, stubborn } from './natures.ts';

const short = { reloadWithin: duration(TICK), cacheLag: duration(TICK) };
/** Presents and verifies in another namespace; slow, because nothing hurries it. */
const hotThere: Nature = {
  reload: 'hot',
  presents: 'theirs',
  verifies: 'wide',
  acknowledges: true,
  outside: true,
};
const stubbornThere: Nature = { reload: 'restart', presents: 'theirs', verifies: 'wide', outside: true };
/** Only presents: a verifier that misses two rotations is refused, and the plan says so before the second. */
const { verifies: _, ...presenterThere } = stubbornThere;
const there = { elsewhere: ['theirs', 'wide'], bundles: ['wide'] };
const slowly = { tick: duration(20 * minute), lifetime: 60, leafLifetime: 30, end: 46 };

/** Worlds with honest workloads in another namespace: no rotation waits for them, and none overtakes them. */
export const elsewhereWorlds: readonly ModelWorld[] = [
  worldOf('a slow workload of another namespace that acknowledges', {
    natures: { a: hot('sa'), far: hotThere },
    ...there,
    policy: short,
  }),
  worldOf('a workload of another namespace that shows for ever that it does not reload', {
    natures: { a: hot('sa'), far: { ...hotThere, neverReloads: true } },
    ...there,
    policy: short,
  }),
  worldOf('a restart-only workload of another namespace', {
    natures: { a: hot('sa'), far: stubbornThere },
    ...there,
    policy: short,
  }),
  worldOf('a restart-only workload of another namespace, instant', {
    natures: { a: hot('sa'), far: stubbornThere },
    ...there,
    policy: { ...short, ...instantly },
  }),
  worldOf('a workload of another namespace that never restarts, and two rotations', {
    natures: { a: hot('sa'), far: { ...presenterThere, neverReloads: true } },
    elsewhere: ['theirs'],
    budget: { rotations: 2 },
    timeless: true,
  }),
  worldOf('a presenter of another namespace, and three rotations', {
    natures: { a: hot('sa'), far: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true } },
    elsewhere: ['theirs'],
    timeless: true,
    budget: { rotations: 3 },
  }),
  worldOf('a workload of another namespace that gives no evidence', {
    natures: {
      a: hot('sa'),
      far: { reload: 'unknown', presents: 'theirs', outside: true, neverReloads: true },
    },
    elsewhere: ['theirs'],
    timeless: true,
  }),
  worldOf('a leaf of another namespace that an unknown workload presents', {
    natures: {
      a: hot('sa'),
      far: { reload: 'unknown', presents: 'theirs', outside: true, hidden: true, neverReloads: true },
    },
    elsewhere: ['theirs'],
    timeless: true,
  }),
  worldOf('a leaf of another namespace that an unknown workload presents too, by its owner’s word', {
    natures: {
      a: hot('sa'),
      far: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true },
      ghost: { reload: 'unknown', presents: 'theirs', outside: true, hidden: true, neverReloads: true },
    },
    elsewhere: ['theirs'],
    others: ['theirs'],
    timeless: true,
  }),
  worldOf('a workload of another namespace that acknowledges and restarts, with stale caches', {
    natures: { a: hot('sa'), far: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true } },
    elsewhere: ['theirs'],
    caches: true,
    budget: { rotations: 1, restarts: 1 },
  }),
  worldOf('a workload of another namespace that its owner declares hot', {
    natures: {
      a: hot('sa'),
      far: { reload: 'hot', presents: 'theirs', verifies: 'wide', ownersWord: true, outside: true },
    },
    ...there,
    policy: short,
  }),
  worldOf('a workload of another namespace that leaves and comes back', {
    natures: { a: hot('sa'), far: { ...hotThere, verifies: 'theirs' } },
    elsewhere: ['theirs'],
    timeless: true,
    budget: { rotations: 1, departures: 1, returns: 1 },
  }),
  worldOf('a Leaf of another namespace that is renewed in mid-phase', {
    natures: { a: hot('sa'), far: presenterThere },
    elsewhere: ['theirs'],
    budget: { rotations: 1, renewals: 1 },
    timeless: true,
  }),
  worldOf('a Leaf of another namespace that is deleted while its pod runs', {
    natures: { a: hot('sa'), far: { ...presenterThere, neverReloads: true } },
    elsewhere: ['theirs'],
    budget: { rotations: 1, removals: 1, deletions: 1 },
    timeless: true,
  }),
  worldOf('a Leaf of another namespace that is deleted after a rotation, and another rotation', {
    natures: { a: hot('sa'), far: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true } },
    elsewhere: ['theirs'],
    budget: { rotations: 2, removals: 1, deletions: 1 },
    timeless: true,
  }),
  worldOf('another namespace, and distrust of each role', {
    natures: { a: hot('sa'), far: { ...presenterThere, neverReloads: true } },
    ...there,
    timeless: true,
    budget: { rotations: 1, distrusts: 1 },
  }),
  worldOf('another namespace, two rotations, and distrust', {
    natures: { a: hot('sa'), far: { ...presenterThere, neverReloads: true } },
    elsewhere: ['theirs'],
    timeless: true,
    budget: { rotations: 2, distrusts: 1 },
  }),
  worldOf('another namespace, from a state that remembers none of its leaves', {
    natures: { a: hot('sa'), far: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true } },
    elsewhere: ['theirs'],
    timeless: true,
    forgetful: true,
    budget: { rotations: 2 },
  }),
  worldOf('another namespace, two controllers, and a write that lands late', {
    natures: { a: hot('sa'), far: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true } },
    elsewhere: ['theirs'],
    timeless: true,
    controllers: 2,
  }),
  worldOf('another namespace, and an authority restored from a backup', {
    natures: { a: hot('sa'), far: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true } },
    elsewhere: ['theirs'],
    timeless: true,
    budget: { rotations: 1, backups: 1, restores: 1, renewals: 1 },
  }),
  worldOf('restart-only pods here and in another namespace', {
    natures: { a: { ...stubborn('sa'), pods: 1 }, far: { ...stubbornThere, verifies: 'theirs' } },
    elsewhere: ['theirs'],
    policy: short,
  }),
  worldOf('a workload of another namespace that never restarts, until its leaf has expired', {
    natures: {
      a: { reload: 'hot', presents: 'sa', verifies: 'sa', ownersWord: true },
      far: { ...presenterThere, unrollable: true, expires: true },
    },
    elsewhere: ['theirs'],
    timed: slowly,
    policy: { rotate: { at: 0.4 } },
    budget: {},
  }),
];
