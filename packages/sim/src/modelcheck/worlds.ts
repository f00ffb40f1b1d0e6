import type { Stamp } from '@handover/core';
import { duration, minute } from '@handover/material';
import { worldOf } from './build.ts';
import { elsewhereWorlds } from './elsewhere-worlds.ts';
import { lentWorlds } from './lent-worlds.ts';
import { type ModelWorld, type Nature, TICK } from './model.ts';
import { hot, instantly, promised, stubborn } from './natures.ts';

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
const neighbourWorlds: readonly ModelWorld[] = [
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

/** It is unknown to the planner; it only presents, because a verifier that misses two rotations is refused. */
const shy: Nature = { reload: 'unknown', presents: 'sb', hidden: true, neverReloads: true };
/** Its pods carry a stamp that this authority did not make. */
const restored = (stamped: Stamp): Nature & { pods: number } => ({ ...stubborn('sb'), pods: 1, stamped });

/** Consumers whose evidence is missing, unreadable or about another program. */
const evidenceWorlds: readonly ModelWorld[] = [
  worldOf('a hot consumer that reports no load, against its owner’s word', {
    natures: { a: hot('sa'), b: { ...hot('sb'), ownersWord: true } },
  }),
  worldOf('a consumer whose declared evidence cannot be read, against its owner’s word', {
    natures: { a: hot('sa'), b: { ...promised('sb'), unread: true, neverReloads: true } },
  }),
  worldOf('a restart-only consumer that starts from a copy of its own, and shows it', {
    natures: { a: hot('sa'), b: { ...stubborn('sb'), pods: 1, acknowledges: true, keepsCopy: true } },
    policy: { cacheLag: duration(0) },
  }),
  worldOf('a consumer whose declared address is that of another program', {
    timeless: true,
    natures: { a: hot('sa'), b: { ...hot('sb'), askedAt: 'a', neverReloads: true } },
  }),
  worldOf('a consumer whose Leaf is misspelt', {
    timeless: true,
    natures: {
      a: hot('sa'),
      b: { reload: 'unknown', presents: 'sb', neverReloads: true, misspelt: true },
    },
    policy: { consumersFound: false },
  }),
  worldOf('a workload that comes late and mounts the Secret of an unknown presenter', {
    timeless: true,
    natures: { a: hot('sa'), shy, test: hot('sb') },
    present: ['a', 'shy'],
    budget: { rotations: 1, arrivals: 1 },
  }),
  worldOf('a Job that mounts the Secret of an unknown presenter', {
    timeless: true,
    natures: { a: hot('sa'), shy, test: { ...hot('sb'), completes: true } },
    budget: { rotations: 1, departures: 1 },
  }),
  worldOf('a Secret that an unknown presenter reads too, by its owner’s word', {
    timeless: true,
    natures: { a: hot('sa'), shy, b: hot('sb') },
    others: ['sb'],
    budget: { rotations: 2 },
  }),
  worldOf('a Leaf goes while an unknown presenter reads its Secret', {
    timeless: true,
    natures: { a: hot('sa'), shy },
    budget: { rotations: 2, removals: 1 },
  }),
  worldOf('a Leaf whose lifetime is shortened, and an unknown presenter', {
    natures: {
      a: promised('sa'),
      shy: { reload: 'unknown', presents: 'sb', hidden: true, unrollable: true, expires: true },
    },
    timed: { tick: duration(20 * minute), lifetime: 60, leafLifetime: 30, shorter: 6, end: 36 },
    policy: { rotate: { at: 0.3 }, reloadWithin: duration(20 * minute) },
    budget: { renewals: 1 },
  }),
  worldOf('a Leaf and its Secret that are created again while a pod runs that shows nothing', {
    natures: {
      a: { reload: 'hot', verifies: 'sb', acknowledges: true },
      b: { reload: 'unknown', presents: 'sb', unrollable: true, neverReloads: true },
    },
    policy: { cacheLag: duration(0), reloadWithin: duration(0) },
    budget: { rotations: 1, removals: 1, deletions: 1, recreations: 1 },
  }),
  worldOf('a restart-only consumer restored with the stamp of another cluster', {
    natures: { a: hot('sa'), b: restored({ trust: 7, distrusts: 0, issuer: 7, leaf: '0' }) },
  }),
  worldOf('a restart-only consumer restored with a stamp that names no CA', {
    natures: { a: hot('sa'), b: restored({ trust: 2, distrusts: 0, issuer: 2, leaf: '0' }) },
  }),
  worldOf('a restart-only consumer restored with the stamp of another CA of the same number', {
    natures: { a: hot('sa'), b: restored({ trust: 2, distrusts: 0, issuer: 2, leaf: '0', ca: 'other' }) },
  }),
  worldOf('a restart-only consumer restored with the stamp of an earlier distrust', {
    timeless: true,
    natures: {
      a: hot('sa'),
      b: { reload: 'restart', verifies: 'sa', stamped: { trust: 1, distrusts: 1, ca: 'g1' } },
    },
    budget: { rotations: 1, distrusts: 1, restarts: 1 },
  }),
];

/** The worlds of the design, each small enough to be explored completely. */
export const worlds: readonly ModelWorld[] = [
  worldOf('two hot peers that acknowledge', {
    timeless: true,
    budget: { rotations: 3 },
    natures: { a: hot('sa'), b: hot('sb') },
  }),
  worldOf('two hot peers, instant', {
    timeless: true,
    budget: { rotations: 3 },
    natures: { a: hot('sa'), b: hot('sb') },
    policy: instantly,
  }),
  worldOf('two peers that rest on reloadWithin', { natures: { a: promised('sa'), b: promised('sb') } }),
  worldOf('a directory, where every consumer rests on reloadWithin', {
    natures: { a: promised('sa'), b: { ...promised('sb'), ownersWord: false, reload: 'unknown' } },
    policy: { consumersFound: false, cacheLag: duration(0) },
  }),
  worldOf('restart-only with two pods', { natures: { a: stubborn('sa'), b: hot('sb') } }),
  worldOf('restart-only with two pods, instant', {
    natures: { a: stubborn('sa'), b: hot('sb') },
    policy: instantly,
  }),
  worldOf('leaf and bundle in two objects, loaded apart', {
    timeless: true,
    budget: { rotations: 3 },
    natures: {
      a: { reload: 'hot', presents: 'sa', verifies: 'trust', acknowledges: true },
      b: { reload: 'hot', presents: 'sb', verifies: 'trust', acknowledges: true },
    },
    bundles: ['trust'],
  }),
  worldOf('leaf and bundle in two objects, on reloadWithin, instant', {
    natures: {
      a: { reload: 'hot', presents: 'sa', verifies: 'trust', ownersWord: true },
      b: { reload: 'hot', verifies: 'trust', ownersWord: true },
    },
    bundles: ['trust'],
    policy: instantly,
  }),
  worldOf('an API field as verifier', {
    natures: { webhook: hot('sa'), field: { reload: 'field', verifies: 'trust' } },
    bundles: ['trust'],
  }),
  worldOf('an API field as verifier of a presenter that strips the cross-certificate', {
    natures: { webhook: { ...hot('sa'), stripsCross: true }, field: { reload: 'field', verifies: 'trust' } },
    bundles: ['trust'],
    rotated: true,
    policy: { cacheLag: duration(0), reloadWithin: duration(0) },
  }),
  worldOf('an unknown verifier that never reloads', {
    natures: {
      a: hot('sa'),
      ghost: { reload: 'unknown', verifies: 'sa', hidden: true, neverReloads: true },
    },
  }),
  worldOf('an unknown verifier that never reloads, instant', {
    timeless: true,
    natures: { a: hot('sa'), ghost: { reload: 'unknown', verifies: 'sa', hidden: true, neverReloads: true } },
    policy: instantly,
  }),
  worldOf('a presenter that strips the cross-certificate', {
    rotated: true,
    natures: {
      a: { ...hot('sa'), stripsCross: true },
      b: { reload: 'restart', verifies: 'trust', pods: 2 } as Nature,
    },
    bundles: ['trust'],
  }),
  worldOf('a presenter that strips the cross-certificate, before there is one to see', {
    natures: {
      a: { ...hot('sa'), stripsCross: true },
      b: { reload: 'restart', verifies: 'trust', pods: 2 } as Nature,
    },
    bundles: ['trust'],
  }),
  worldOf('a presenter that strips the cross-certificate, instant', {
    rotated: true,
    timeless: true,
    natures: { a: { ...hot('sa'), stripsCross: true }, b: hot('sb') },
    policy: instantly,
  }),
  worldOf('a stripping presenter that restarts, beside stale caches', {
    rotated: true,
    natures: {
      a: { reload: 'restart', presents: 'sa', verifies: 'sa', stripsCross: true, probed: true },
      b: { reload: 'hot', verifies: 'trust', acknowledges: true },
    },
    bundles: ['trust'],
    caches: true,
    budget: { rotations: 1, restarts: 1 },
  }),
  worldOf('a Leaf and a consumer appear', {
    timeless: true,
    natures: { a: hot('sa'), latecomer: hot('late') },
    present: ['a'],
    budget: { rotations: 2, additions: 1 },
  }),
  worldOf('a Leaf goes while it is mounted', {
    timeless: true,
    natures: { a: hot('sa'), b: hot('sb') },
    budget: { rotations: 2, removals: 1, departures: 1 },
  }),
  worldOf('a Secret is deleted', {
    timeless: true,
    natures: { a: hot('sa'), b: { reload: 'hot', verifies: 'sa', acknowledges: true } },
    budget: { rotations: 2, deletions: 1 },
  }),
  worldOf('a leaf is renewed in mid-phase', {
    natures: { a: promised('sa'), b: { ...stubborn('sb'), pods: 1 } },
    budget: { rotations: 1, renewals: 1 },
  }),
  worldOf('two rotations back to back', {
    natures: { a: promised('sa'), b: hot('sb') },
    budget: { rotations: 2 },
  }),
  worldOf('two rotations back to back, instant, restart-only', {
    natures: { a: { ...stubborn('sa'), pods: 1 }, b: hot('sb') },
    budget: { rotations: 2 },
    policy: instantly,
  }),
  worldOf('distrust of each role in each phase', {
    natures: { a: hot('sa'), b: promised('sb') },
    budget: { rotations: 1, distrusts: 1 },
  }),
  worldOf('distrust with restart-only pods', {
    natures: {
      a: { ...stubborn('sa'), pods: 1 },
      b: { reload: 'hot', verifies: 'trust', acknowledges: true },
    },
    bundles: ['trust'],
    budget: { rotations: 1, distrusts: 1 },
  }),
  worldOf('distrust twice', {
    timeless: true,
    natures: { a: hot('sa'), b: { reload: 'hot', verifies: 'sa', acknowledges: true } },
    budget: { rotations: 1, distrusts: 2 },
  }),
  worldOf('two controllers and writes that land late', {
    timeless: true,
    natures: { a: hot('sa'), b: { reload: 'hot', verifies: 'trust', acknowledges: true } },
    bundles: ['trust'],
    controllers: 2,
    budget: { rotations: 1, renewals: 1 },
  }),
  worldOf('two controllers and a Leaf that appears', {
    timeless: true,
    natures: { a: hot('sa'), latecomer: hot('late') },
    present: ['a'],
    controllers: 2,
    budget: { rotations: 1, additions: 1 },
  }),
  worldOf('stale kubelet caches and draining pods', {
    natures: { a: { ...stubborn('sa'), pods: 1 }, b: hot('sb') },
    caches: true,
    budget: { rotations: 1, restarts: 1 },
  }),
  worldOf('stale caches around a bundle of its own', {
    natures: {
      a: { reload: 'hot', verifies: 'trust', acknowledges: true },
      b: { reload: 'restart', presents: 'sb', verifies: 'trust' },
    },
    bundles: ['trust'],
    caches: true,
    budget: { rotations: 1, restarts: 1 },
  }),
  worldOf('a bundle that kubelets cache for longer', {
    natures: {
      a: { reload: 'hot', verifies: 'trust', acknowledges: true },
      b: { reload: 'restart', presents: 'sb', verifies: 'trust' },
    },
    bundles: ['trust'],
    caches: true,
    slow: ['trust'],
    budget: { rotations: 1, restarts: 1 },
  }),
  worldOf('an authority restored from backup', {
    timeless: true,
    natures: { a: hot('sa'), b: { reload: 'hot', verifies: 'trust', acknowledges: true } },
    bundles: ['trust'],
    budget: { rotations: 2, backups: 1, restores: 1 },
  }),
  worldOf('adoption of a CA without its key', {
    natures: { a: hot('sa'), b: promised('sb') },
    adopted: true,
    budget: {},
  }),
  worldOf('adoption of a CA without its key, restart-only, asked to be instant', {
    natures: { a: stubborn('sa'), b: hot('sb') },
    adopted: true,
    policy: instantly,
    budget: {},
  }),
  worldOf('consumers outside the namespace', {
    natures: { a: hot('sa'), far: { reload: 'hot', verifies: 'trust', outside: true } },
    bundles: ['trust'],
    budget: { rotations: 2 },
  }),
  worldOf('a consumer that never confirms', {
    timeless: true,
    natures: { a: hot('sa'), b: { ...hot('sb'), neverReloads: true } },
  }),
  worldOf('a consumer that never confirms, and Proceed', {
    natures: { a: hot('sa'), b: { ...hot('sb'), neverReloads: true } },
    policy: { onBlocked: 'Proceed', patience: duration(10_000) },
  }),
  worldOf('an unknown consumer that never confirms, and Restart', {
    natures: { a: hot('sa'), b: { reload: 'unknown', presents: 'sb', verifies: 'sb', neverReloads: true } },
    policy: { onBlocked: 'Restart', patience: duration(10_000) },
  }),
  worldOf('an API field as verifier, instant', {
    natures: { webhook: hot('sa'), field: { reload: 'field', verifies: 'trust' } },
    bundles: ['trust'],
    policy: { ...instantly, cacheLag: duration(0) },
    budget: { rotations: 2 },
  }),
  worldOf('leaf and bundle in two objects, loaded apart, instant', {
    timeless: true,
    natures: {
      a: { reload: 'hot', presents: 'sa', acknowledges: true },
      b: { reload: 'hot', verifies: 'trust', acknowledges: true },
    },
    bundles: ['trust'],
    policy: instantly,
    budget: { rotations: 2 },
  }),
  worldOf('hot pods that start from stale caches', {
    natures: { a: hot('sa'), b: { reload: 'hot', verifies: 'trust', acknowledges: true } },
    bundles: ['trust'],
    caches: true,
    budget: { rotations: 1, restarts: 1 },
  }),
  worldOf('two controllers that read the objects first and the authority later', {
    timeless: true,
    torn: true,
    natures: { a: hot('sa'), b: { reload: 'hot', verifies: 'trust', acknowledges: true } },
    bundles: ['trust'],
    controllers: 2,
    budget: { rotations: 1 },
  }),
  worldOf('a controller that reads the Leaf first and the authority later, beside another', {
    timeless: true,
    torn: true,
    natures: { a: hot('sa'), latecomer: hot('late') },
    present: ['a'],
    controllers: 2,
    budget: { rotations: 1, additions: 1 },
  }),
  worldOf('a Leaf is renamed', {
    timeless: true,
    natures: { a: hot('sa'), latecomer: hot('late') },
    present: ['a'],
    budget: { rotations: 2, additions: 1, removals: 1, departures: 1 },
  }),
  worldOf('an unknown consumer that never confirms', {
    natures: { a: hot('sa'), b: { reload: 'unknown', presents: 'sb', verifies: 'sb', neverReloads: true } },
  }),
  worldOf('an unknown presenter', {
    timeless: true,
    natures: {
      a: hot('sa'),
      shy: { reload: 'unknown', presents: 'sb', verifies: 'sb', hidden: true, neverReloads: true },
    },
  }),
  worldOf('two controllers, a renewal that lands late, and a second rotation', {
    timeless: true,
    natures: { a: hot('sa') },
    controllers: 2,
    budget: { rotations: 2, renewals: 1 },
  }),
  worldOf('reloadWithin, renewal, schedule and expiry in time', {
    natures: { a: promised('sa'), b: { reload: 'hot', verifies: 'trust', ownersWord: true } },
    bundles: ['trust'],
    timed: { tick: duration(20 * minute), lifetime: 45, leafLifetime: 15, end: 60 },
    policy: { rotate: { at: 0.5 } },
    budget: {},
  }),
  worldOf('a verifier that never confirms, up to the deadline', {
    natures: {
      a: promised('sa'),
      b: { reload: 'hot', verifies: 'trust', acknowledges: true, neverReloads: true },
    },
    bundles: ['trust'],
    timed: { tick: duration(20 * minute), lifetime: 45, leafLifetime: 15, end: 50 },
    policy: { rotate: { at: 0.5 } },
    budget: {},
  }),
  ...evidenceWorlds,
  ...neighbourWorlds,
  ...lentWorlds,
  ...elsewhereWorlds,
];
