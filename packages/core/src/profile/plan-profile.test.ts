import { duration, type Instant, instant } from '@handover/material';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ProfileSeen, type ProfileWorkload, planProfile } from './plan-profile.ts';

const CHANGED = instant(1_000_000);
const LAG = 10_000;
const LATER = instant(CHANGED + LAG + 1);
const POLICY = { cacheLag: duration(LAG), maxConcurrentRollouts: 2 };

const workload = (more: Partial<ProfileWorkload> = {}): ProfileWorkload => ({
  id: 'Deployment shop/web',
  reads: true,
  reload: 'unknown',
  stamp: undefined,
  createdAt: instant(0),
  pods: [instant(0)],
  rolling: false,
  ...more,
});
const seen = (workloads: readonly ProfileWorkload[], more: Partial<ProfileSeen> = {}): ProfileSeen => ({
  wanted: 'new',
  held: { hash: 'new', intact: true, changedAt: CHANGED, replacedOne: true },
  written: true,
  workloads,
  ...more,
});
const stamped = (world: ProfileSeen, now: Instant = LATER): readonly string[] =>
  planProfile(world, POLICY, now).actions.flatMap((action) =>
    action.kind === 'stamp-profile' ? [`${action.consumer} ${action.hash}`] : [],
  );

test('A profile that is not written yet is written, and nothing else is done', () => {
  const world = seen([workload({ stamp: 'old' })], { written: false });
  expect(planProfile(world, POLICY, LATER).actions.map(({ kind }) => kind)).toEqual(['write-profile']);
});

test('A profile that cannot be written stamps no workload', () => {
  const world = seen([workload({ stamp: 'old' })], { written: false, obstacle: 'not ours' });
  expect(planProfile(world, POLICY, LATER).actions).toEqual([]);
});

test('A profile that is refused changes nothing, and the one written before is still rolled out', () => {
  const refused = { wanted: undefined, written: false };
  expect(stamped(seen([workload({ stamp: 'new' })], refused))).toEqual([]);
  expect(stamped(seen([workload({ stamp: 'old' })], refused))).toEqual(['Deployment shop/web new']);
});

test('A profile that is refused after the old one was changed by hand restarts no workload', () => {
  const held = { hash: 'new', intact: false, changedAt: CHANGED, replacedOne: true };
  const world = seen([workload({ stamp: 'old' })], { wanted: undefined, written: false, held });
  expect(planProfile(world, POLICY, LATER).actions).toEqual([]);
});

test('A workload that runs with an older profile is stamped', () => {
  expect(stamped(seen([workload()]))).toEqual(['Deployment shop/web new']);
  expect(stamped(seen([workload({ stamp: 'old' })]))).toEqual(['Deployment shop/web new']);
});

test('A workload is not stamped while kubelets may still hand out the old file, and that ends by itself', () => {
  const world = seen([workload({ stamp: 'old' })]);
  const { actions, waiting, wakeAt } = planProfile(world, POLICY, instant(CHANGED + LAG - 1));
  expect(actions).toEqual([]);
  expect(waiting).toHaveLength(1);
  expect(wakeAt).toBe(CHANGED + LAG);
});

test('A workload is not restarted by the first profile there ever was', () => {
  const held = { hash: 'new', intact: true, changedAt: CHANGED, replacedOne: false };
  expect(stamped(seen([workload()], { held }))).toEqual([]);
});

test('A workload that came after the change is not restarted; one with a pod from before is', () => {
  const after = instant(CHANGED + LAG + 1);
  expect(stamped(seen([workload({ pods: [after] })]))).toEqual([]);
  expect(stamped(seen([workload({ pods: [after, CHANGED] })]))).toHaveLength(1);
  expect(stamped(seen([workload({ pods: [], createdAt: after })]))).toEqual([]);
  expect(stamped(seen([workload({ pods: [] })]))).toHaveLength(1);
});

test('A workload without pods that carries an old stamp gets the new one: its next pod compares the two', () => {
  expect(stamped(seen([workload({ stamp: 'old', pods: [], createdAt: LATER })]))).toHaveLength(1);
});

test('A workload that does not read the profile is named and never stamped, nor waited for, whatever it says of itself', () => {
  const net = (more: Partial<ProfileWorkload>) =>
    workload({ id: 'DaemonSet shop/net', reads: false, ...more });
  for (const more of [
    {},
    { stamp: 'old' },
    { reload: 'hot', stamp: 'old' },
    { takenBy: 'shop/other' },
  ] as const) {
    const plan = planProfile(seen([net(more), workload()]), POLICY, LATER);
    expect(plan.actions).toMatchObject([{ kind: 'stamp-profile', consumer: 'Deployment shop/web' }]);
    expect([plan.unread, plan.waiting, plan.notes]).toEqual([['DaemonSet shop/net'], [], []]);
  }
});

test('A workload that does not read the profile is named at once, also while there is no file or none that can be written', () => {
  for (const more of [
    { held: undefined, written: false },
    { written: false, obstacle: 'not ours' },
  ])
    expect(planProfile(seen([workload({ reads: false })], more), POLICY, LATER).unread).toEqual([
      'Deployment shop/web',
    ]);
});

test('A workload that does not read the profile takes no place of those that do', () => {
  const rolling = Array.from({ length: 3 }, (_, i) =>
    workload({ id: `DaemonSet shop/${i}`, reads: false, rolling: true, stamp: 'new' }),
  );
  expect(stamped(seen([...rolling, workload()]))).toHaveLength(1);
});

const undone = (times: number, last: Instant = LATER, hash = 'new') => ({ undone: { hash, times, last } });

test.each([
  [1, 60_000],
  [2, 120_000],
  [3, 240_000],
  [20, 6 * 3_600_000],
])(
  'A workload whose stamp was removed %i times is left alone for %i ms, named, and then tried again',
  (times, pause) => {
    const world = seen([workload(undone(times))]);
    const plan = planProfile(world, POLICY, instant(LATER + pause - 1));
    expect([plan.actions, plan.wakeAt]).toEqual([[], LATER + pause]);
    expect(plan.waiting[0]?.waitsFor).toMatch(/another program removed its stamp; the next try is at 1970-/);
    expect(plan.contended).toEqual([
      {
        object: 'Deployment shop/web',
        message: expect.stringContaining('pods of it run with an older profile'),
      },
    ]);
    expect(stamped(world, instant(LATER + pause))).toHaveLength(1);
  },
);

test('A workload whose stamp was removed and whose pods all have the profile is named, and neither stamped nor waited for', () => {
  const plan = planProfile(seen([workload({ ...undone(1), pods: [LATER] })]), POLICY, LATER);
  expect([plan.actions, plan.waiting]).toEqual([[], []]);
  expect(plan.contended[0]?.message).toContain('each change of the profile restarts it twice');
});

test('A workload whose stamp of an earlier profile was removed is stamped for the next profile at once', () => {
  expect(stamped(seen([workload(undone(5, LATER, 'old'))]))).toHaveLength(1);
  expect(planProfile(seen([workload({ ...undone(5), stamp: 'new' })]), POLICY, LATER).contended).toEqual([]);
});

test('A workload that is hot and has a stamp from before is named, not rolled', () => {
  const { actions, notes } = planProfile(seen([workload({ reload: 'hot', stamp: 'old' })]), POLICY, LATER);
  expect([actions, notes.length]).toEqual([[], 1]);
  expect(planProfile(seen([workload({ reload: 'hot', stamp: 'new' })]), POLICY, LATER).notes).toEqual([]);
});

test('A workload that is hot is never rolled', () => {
  expect(stamped(seen([workload({ reload: 'hot' }), workload({ reload: 'hot', stamp: 'old' })]))).toEqual([]);
});

test('A workload that an older profile selects too is left to that one, and named', () => {
  const world = seen([workload({ stamp: 'old', takenBy: 'shop/first' })]);
  const { actions, notes } = planProfile(world, POLICY, LATER);
  expect(actions).toEqual([]);
  expect(notes[0]?.message).toContain('shop/first');
});

test('A workload that cannot be rolled is named and waited for', () => {
  const world = seen([workload({ stamp: 'old', obstacle: 'its rollout is paused' })]);
  const { actions, waiting, notes } = planProfile(world, POLICY, LATER);
  expect(actions).toEqual([]);
  expect([waiting[0]?.waitsFor, notes[0]?.message]).toEqual([
    'to be restarted: its rollout is paused',
    'its rollout is paused',
  ]);
});

test('workloads are rolled a few at a time', () => {
  const all = [1, 2, 3, 4].map((n) => workload({ id: `Deployment shop/${n}`, stamp: 'old' }));
  expect(stamped(seen(all))).toHaveLength(2);
  const [first, ...rest] = all;
  if (first === undefined) throw new Error('no workload');
  expect(stamped(seen([{ ...first, stamp: 'new', rolling: true }, ...rest]))).toHaveLength(1);
  // Rolling for reasons of its own.
  expect(stamped(seen([{ ...first, rolling: true }, ...rest]))).toHaveLength(2);
});

test('A plan never has both a write and a stamp, and leaves nothing to do once it is carried out', () => {
  const time = fc.integer({ min: 0, max: 2_000_000 }).map(instant);
  const some = fc.record({
    id: fc.string({ minLength: 1, maxLength: 4 }),
    reads: fc.boolean(),
    reload: fc.constantFrom('hot', 'restart', 'unknown' as const),
    undone: fc.option(
      fc.record({ hash: fc.constantFrom('old', 'new'), times: fc.integer({ min: 1, max: 12 }), last: time }),
      { nil: undefined },
    ),
    stamp: fc.constantFrom(undefined, 'old', 'new'),
    createdAt: time,
    pods: fc.array(time, { maxLength: 3 }),
    rolling: fc.boolean(),
    obstacle: fc.constantFrom(undefined, 'paused'),
  });
  const held = fc.option(
    fc.record({
      hash: fc.constantFrom('old', 'new'),
      intact: fc.boolean(),
      changedAt: time,
      replacedOne: fc.boolean(),
    }),
    { nil: undefined },
  );
  const worlds = fc.record({
    wanted: fc.constantFrom(undefined, 'old', 'new'),
    held,
    written: fc.boolean(),
    workloads: fc.uniqueArray(some, { selector: ({ id }) => id, maxLength: 6 }),
  });
  fc.assert(
    fc.property(worlds, time, (world, now) => {
      const { actions } = planProfile(world, POLICY, now);
      const stamps = actions.flatMap((action) => (action.kind === 'stamp-profile' ? [action] : []));
      const writes = actions.length - stamps.length;
      expect(writes === 0 || (writes === 1 && stamps.length === 0)).toBe(true);
      for (const { consumer, hash } of stamps) {
        expect(hash).toBe(world.held?.hash);
        const workload = world.workloads.find(({ id }) => id === consumer);
        expect(workload).toMatchObject({ reads: true });
        expect(workload?.reload).not.toBe('hot');
      }
      if (writes > 0) return;
      const workloads = world.workloads.map((one) => {
        const stamp = stamps.find(({ consumer }) => consumer === one.id)?.hash;
        return stamp === undefined ? one : { ...one, stamp };
      });
      const again = planProfile({ ...world, workloads }, { ...POLICY, maxConcurrentRollouts: 99 }, now);
      const twice = again.actions.filter((action) =>
        stamps.some(({ consumer }) => 'consumer' in action && action.consumer === consumer),
      );
      expect(twice).toEqual([]);
    }),
  );
});
