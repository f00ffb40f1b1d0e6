import { duration, minute } from '@handover/material';
import { worldOf } from './build.ts';
import { type ModelWorld, type Nature, TICK } from './model.ts';
import { hot, promised, stubborn } from './natures.ts';

const short = { reloadWithin: duration(TICK), cacheLag: duration(TICK) };
const far: Nature = { reload: 'hot', presents: 'cm', verifies: 'cm', outside: true };
/** The rotation begins at tick 24; leaves of 30 ticks outlive that. */
const slowly = { tick: duration(20 * minute), lifetime: 60, leafLifetime: 30, end: 46 };

/** Worlds with objects that other programs write. */
export const lentWorlds: readonly ModelWorld[] = [
  worldOf('a Secret that another program writes', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    lent: { cm: {} },
    budget: { rotations: 2, unasked: 1 },
  }),
  worldOf('a Secret that another program writes, and a verifier that has to be restarted for it', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm'), d: { reload: 'restart', verifies: 'cm' } },
    lent: { cm: {} },
  }),
  worldOf('a Secret that another program writes, beside stale caches', {
    natures: { a: hot('sa'), c: { ...stubborn('cm'), pods: 1 } },
    lent: { cm: {} },
    caches: true,
    budget: { rotations: 1, restarts: 1 },
  }),
  worldOf('a Secret that another program writes, with no pod at times', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    lent: { cm: {} },
    budget: { rotations: 1, departures: 1, returns: 1 },
  }),
  worldOf('a program that is away', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    lent: { cm: { stuck: true } },
  }),
  worldOf('a program that renews unasked, and does not', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    lent: { cm: { unasked: true, stuck: true } },
  }),
  worldOf('a leaf that its program renews unasked', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    lent: { cm: { unasked: true } },
    budget: { rotations: 2 },
  }),
  worldOf('a Secret that another program writes, for an unknown presenter', {
    timeless: true,
    natures: {
      a: hot('sa'),
      shy: { reload: 'unknown', presents: 'cm', verifies: 'cm', hidden: true, neverReloads: true },
    },
    lent: { cm: {} },
  }),
  worldOf('a Secret that another program writes, beside a presenter that strips the cross-certificate', {
    rotated: true,
    timeless: true,
    natures: { a: { ...hot('sa'), stripsCross: true }, c: hot('cm') },
    lent: { cm: {} },
  }),
  worldOf('a Secret that another program writes, and distrust', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    lent: { cm: {} },
    budget: { rotations: 1, distrusts: 1 },
  }),
  worldOf('a Secret of another namespace that another program writes', {
    natures: { a: hot('sa'), far },
    lent: { cm: { elsewhere: true } },
    policy: short,
  }),
  worldOf('a program of another namespace that is away', {
    natures: { a: promised('sa'), far: { ...far, verifies: 'sa', expires: true } },
    lent: { cm: { elsewhere: true, stuck: true } },
    timed: slowly,
    policy: { rotate: { at: 0.4 } },
    budget: {},
  }),
  worldOf('a program of another namespace that is away, and distrust', {
    natures: { a: hot('sa'), far },
    lent: { cm: { elsewhere: true, stuck: true } },
    policy: short,
    budget: { distrusts: 1 },
  }),
  worldOf('a process with a leaf of its own that is not known any more', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    lent: { cm: { unasked: true, forgotten: true } },
    budget: { rotations: 2 },
  }),
  worldOf('a Secret that another program wrote and that is gone', {
    timeless: true,
    natures: { a: hot('sa'), c: hot('cm') },
    present: ['a'],
    lent: { cm: { unasked: true, gone: true } },
    budget: { rotations: 2 },
  }),
  worldOf('a leaf that no object shows', {
    natures: {
      a: promised('sa'),
      ghost: { reload: 'unknown', presents: 'nothing', hidden: true, unseen: true, expires: true },
    },
    timed: { ...slowly, leafLifetime: 12 },
    policy: { rotate: { at: 0.4 } },
    budget: { unseen: 1 },
  }),
];
