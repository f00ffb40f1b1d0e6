import { duration } from '@handover/material';
import { worldOf } from './build.ts';
import type { ModelWorld, Nature } from './model.ts';
import { hot, promised, stubborn } from './natures.ts';

/** Nobody knows of it; it only presents, because a verifier that misses two rotations is refused. */
const shy: Nature = { reload: 'unknown', presents: 'sb', hidden: true, neverReloads: true };

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
];
