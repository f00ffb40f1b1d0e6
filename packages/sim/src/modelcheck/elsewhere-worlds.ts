import type { Generation } from '@handover/core';
import { duration, minute } from '@handover/material';
import { worldOf } from './build.ts';
import { type ModelConsumer, type ModelWorld, type Nature, type State, TICK } from './model.ts';
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

const renamed = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
  if (typeof value === 'string') return names.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renamed(item, names)]));
};

/** As `MOST_RETAINED` of the planner. */
const MOST_RETAINED = 8;

/** The same, after as many rotations as CAs may be retained; `ghost` still presents a leaf of the first. */
const crowded = (world: ModelWorld): ModelWorld => {
  const last = MOST_RETAINED + 1;
  const names = new Map([
    ['g1', `g${last}`],
    ['l1r0', `l${last}r0`],
  ]);
  const now = renamed(world.initial, names) as State;
  const first = world.initial.authority?.generations[0];
  const held = world.initial.objects.sa;
  const pod = world.initial.consumers.a?.pods[0];
  if (now.authority === undefined || first === undefined || held === undefined || pod === undefined)
    throw new TypeError(`${world.name}: no authority, Secret or pod to begin with`);
  const [anchor] = first.anchors;
  const retained = Array.from({ length: MOST_RETAINED }, (_, index): Generation => {
    const number = MOST_RETAINED - index;
    const common = { role: 'retained', hasKey: false, since: first.since, stoppedAt: first.since } as const;
    return {
      number,
      anchors: [{ ...anchor, fingerprint: `g${number}` }],
      ...common,
      elsewhere: { objects: ['theirs'], until: anchor.notAfter },
      ...(number === 1 ? { unseenUntil: anchor.notAfter } : {}),
    };
  });
  const done = retained.map(({ number }) => `earlier-${number}`);
  const bundle = [last, ...retained.map(({ number }) => number)].map((number) => `g${number}`);
  const anchors = bundle.map((fingerprint) => ({ fingerprint, since: held.changedAt }));
  const consumers = Object.entries(now.consumers).map(([id, one]): [string, ModelConsumer] => [
    id,
    { ...one, pods: one.pods.map((each) => ({ ...each, bundle: each.bundle.length === 0 ? [] : bundle })) },
  ]);
  return {
    ...world,
    initial: {
      ...now,
      authority: {
        ...now.authority,
        generations: [...now.authority.generations.map((one) => ({ ...one, number: last })), ...retained],
        lastGeneration: last,
        ids: done,
      },
      rotate: done,
      objects: Object.fromEntries(
        Object.entries(now.objects).map(([id, object]) => [id, { ...object, anchors }]),
      ),
      consumers: {
        ...Object.fromEntries(consumers),
        ghost: { pods: [{ ...pod, bundle: [], chain: ['l1r0'] }], stamp: undefined },
      },
    },
  };
};

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
  worldOf('a workload that comes late and mounts the Secret of an unknown workload of another namespace', {
    natures: {
      a: hot('sa'),
      ghost: { reload: 'unknown', presents: 'theirs', outside: true, hidden: true, neverReloads: true },
      test: { reload: 'hot', presents: 'theirs', acknowledges: true, outside: true },
    },
    elsewhere: ['theirs'],
    present: ['a', 'ghost'],
    timeless: true,
    budget: { rotations: 1, arrivals: 1 },
  }),
  crowded(
    worldOf('more CAs than may be retained: the oldest for its own namespace, the others for another one', {
      natures: {
        a: hot('sa'),
        ghost: { reload: 'unknown', presents: 'nothing', hidden: true, unseen: true },
        far: presenterThere,
      },
      present: ['a'],
      elsewhere: ['theirs'],
      timeless: true,
    }),
  ),
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
