import { duration } from '@handover/material';
import { worldOf } from './build.ts';
import type { ModelWorld } from './model.ts';
import { hot, promised, stubborn } from './natures.ts';

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
];
