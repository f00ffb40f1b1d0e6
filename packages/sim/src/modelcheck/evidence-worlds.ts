import type { Stamp } from '@handover/core';
import { duration, minute } from '@handover/material';
import { worldOf } from './build.ts';
import type { ModelWorld, Nature } from './model.ts';
import { hot, promised, stubborn } from './natures.ts';

/** It is unknown to the planner; it only presents, because a verifier that misses two rotations is refused. */
const shy: Nature = { reload: 'unknown', presents: 'sb', hidden: true, neverReloads: true };
/** Its pods carry a stamp that this authority did not make. */
const restored = (stamped: Stamp): Nature & { pods: number } => ({ ...stubborn('sb'), pods: 1, stamped });

/** Consumers whose evidence is missing, unreadable or about another program. */
export const evidenceWorlds: readonly ModelWorld[] = [
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
