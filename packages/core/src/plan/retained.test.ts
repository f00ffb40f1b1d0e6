import { day, duration, hour, instant, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { anchor, Story, T0 } from '../../test/story.ts';
import { MOST_NAMED_ELSEWHERE, recordExternalSigning } from './external-signing.ts';
import type { ConsumerSeen, ObjectSeen } from './observed.ts';
import { plan } from './plan.ts';
import { MOST_RETAINED } from './retained.ts';

const notesOf = (story: Story, code: string): readonly string[] =>
  story.plan().notes.flatMap((note) => (note.code === code ? [`${note.object} ${note.message}`] : []));

/** An Authority with a web server of its own, and a Leaf in another namespace that `pay/api` presents. */
class Mesh extends Story {
  constructor(api: Partial<ConsumerSeen> = {}) {
    super();
    this.leaf('web').leaf('pay/secrets/api');
    this.set({
      leaves: this.policy.leaves.map((leaf) => (leaf.object === 'web' ? leaf : { ...leaf, elsewhere: true })),
    });
    this.consumer('web', { presents: ['web'], verifies: ['web'] });
    this.consumer('pay/api', {
      presents: ['pay/secrets/api'],
      verifies: ['pay/secrets/api'],
      reload: 'restart',
      blocks: false,
      workload: undefined,
      ...api,
    });
    this.run();
    this.acknowledge('web').pass(day);
  }

  /** A whole rotation of the Authority's own namespace; the neighbour does nothing. */
  rotated(id: string): this {
    this.rotate.push(id);
    for (let round = 0; round < 6; round++) {
      this.run();
      this.acknowledge('web').pass(4 * minute);
    }
    this.run();
    return this;
  }

  notes(code: string): readonly string[] {
    return notesOf(this, code);
  }

  begunAnew(): this {
    this.consumers = this.consumers.map((one) =>
      one.id === 'pay/api'
        ? {
            ...one,
            instances: [{ uid: 'new', createdAt: this.now, ready: true, stamp: undefined, proofs: [] }],
          }
        : one,
    );
    return this;
  }
}

test('a rotation is complete while a pod of another namespace still shows the old leaf, and the old CA stays trusted without its key', () => {
  const story = new Mesh().rotated('r');
  expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [], blockedBy: [] });
  expect(story.roles()).toBe('2:current 1:retained');
  expect(story.authority?.generations[1]).toMatchObject({ hasKey: false });
  expect(story.held('web')).toBe('ca2 ca1');
  expect(story.notes('Retained')).toEqual([
    'CA generation 1 stays trusted, its key destroyed, for 1 workload elsewhere: pay/api (restart pending), until 2030-04-01 at most',
  ]);
});

test('a retained CA leaves every bundle once each workload elsewhere shows a newer leaf', () => {
  const story = new Mesh().rotated('r').begunAnew().pass(minute);
  expect(story.run().map(({ kind }) => kind)).toEqual(['drop', 'write-bundle', 'write-leaf', 'write-leaf']);
  expect(story.roles()).toBe('2:current');
  expect(story.held('web')).toBe('ca2');
  expect(story.notes('Retained')).toEqual([]);
});

test('time alone drops no retained CA before its last leaf has expired, whatever a workload elsewhere shows', () => {
  const story = new Mesh().rotated('r');
  story.pass(80 * day);
  story.run();
  expect(story.roles()).toBe('2:current 1:retained');
  story.pass(9 * day + 2 * hour);
  expect(story.run()[0]).toMatchObject({
    kind: 'drop',
    why: 'the last leaf that it stayed trusted for has expired',
  });
});

test('a proof to the contrary keeps a CA retained though the owner of the workload declared it hot', () => {
  const story = new Mesh({ reload: 'hot', ownersWord: true }).acknowledge('pay/api').rotated('r');
  story.acknowledge('pay/api', { anchors: ['ca1'], issuer: 'ca1' }).pass(30 * day);
  story.run();
  expect(story.roles()).toBe('2:current 1:retained');
  story.acknowledge('pay/api');
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('a Secret elsewhere that cannot be written any more drops no CA whose leaf a pod still shows', () => {
  const story = new Mesh().acknowledge('pay/api', { issuer: 'ca1' }).rotated('r');
  const held = story.objects.get('pay/secrets/api') ?? expect.fail('no Secret');
  story.objects.set('pay/secrets/api', { ...held, obstacle: 'it is immutable' });
  story.rotated('s');
  expect(story.roles()).toBe('3:current 2:retained 1:retained');
});

test('workloads of another namespace are rolled a few at a time, also after the rotation, and the old CA stays until the last is done', () => {
  const story = new Mesh().set({ maxConcurrentRollouts: 3 });
  const others = ['b', 'c', 'd', 'e'].map((name) => `pay/${name}`);
  for (const id of others)
    story.consumer(id, {
      presents: ['pay/secrets/api'],
      verifies: [],
      reload: 'restart',
      blocks: false,
      namespace: 'pay',
    });
  story.consumers = story.consumers.filter(({ id }) => id !== 'pay/api');
  story.rotated('r');
  const rolling = (): string[] =>
    story.consumers.filter(({ workload }) => workload?.rolling === true).map(({ id }) => id);
  const finish = (...done: readonly string[]): void => {
    story.consumers = story.consumers.map((one) =>
      !done.includes(one.id)
        ? one
        : {
            ...one,
            workload: { stamp: one.workload?.stamp, rolling: false },
            instances: one.instances.map((pod) => ({ ...pod, stamp: one.workload?.stamp })),
          },
    );
    story.pass(minute).run();
  };
  expect(rolling()).toEqual(['pay/b', 'pay/c', 'pay/d']);
  expect(story.roles()).toBe('2:current 1:retained');
  finish('pay/b', 'pay/c', 'pay/d');
  expect(rolling()).toEqual(['pay/e']);
  expect(story.roles()).toBe('2:current 1:retained');
  finish('pay/e');
  expect(story.roles()).toBe('2:current');
});

test('issueTo.patience ends the wait, and says before and after which workloads it overtakes', () => {
  const story = new Mesh().set({ patienceElsewhere: duration(7 * day) }).rotated('r');
  expect(story.notes('Retained')[0]).toMatch(
    /for 1 workload elsewhere: pay\/api \(restart pending\), until 2030-01-09 at most; then issueTo.patience has passed, and certificates that they still use are refused$/,
  );
  story.pass(7 * day);
  expect(story.run()[0]).toMatchObject({
    kind: 'drop',
    why: 'issueTo.patience has passed, although pay/api (restart pending) may still use a leaf of it',
  });
});

test('the next rotation begins while a CA is retained, and keeps it', () => {
  const story = new Mesh().rotated('r').rotated('s');
  expect(story.roles()).toBe('3:current 2:retained 1:retained');
  expect(story.held('web')).toBe('ca3 ca2 ca1');
});

test('no more than eight CAs are retained, and the one that the next rotation drops is named before', () => {
  const story = new Mesh();
  for (let rotation = 0; rotation < MOST_RETAINED; rotation++) story.rotated(`r${rotation}`);
  expect(story.notes('Retained').at(-1)).toMatch(/^CA generation 1 .*; the next rotation drops it$/);
  story.rotated('last');
  expect(story.authority?.generations.filter(({ role }) => role === 'retained')).toHaveLength(MOST_RETAINED);
  expect(story.roles()).not.toContain('1:');
});

test('a distrust of the CA that signs reaches the retained CA that vouches for it, however many rotations lie between', () => {
  const story = new Mesh();
  for (const id of ['a', 'b', 'c', 'd', 'e']) story.rotated(id);
  expect(story.roles()).toBe('6:current 5:retained 4:retained 3:retained 2:retained 1:retained');
  story.distrust = [6];
  const [action] = story.plan().actions;
  expect(action).toMatchObject({ kind: 'distrust', generations: [6, 5, 4, 3, 2, 1] });
});

test('a distrust reaches a retained CA through the cross-certificates of CAs that are gone', () => {
  const story = new Mesh();
  story.rotated('a');
  // From now on the neighbour has leaves of the first CA only: those between are dropped at once.
  story.set({ leaves: story.policy.leaves.filter(({ object }) => object === 'web') });
  story.objects.delete('pay/secrets/api');
  story.consumers = story.consumers.filter(({ id }) => id === 'web');
  for (const id of ['b', 'c', 'd', 'e', 'f']) story.rotated(id);
  expect(story.roles()).toBe('7:current 2:retained 1:retained');
  story.distrust = [7];
  expect(story.plan().actions).toMatchObject([{ kind: 'distrust', generations: [7, 2, 1] }]);
});

test('the Leaf of another namespace counts until its last certificate has ended, though it was deleted or its namespace is no longer served', () => {
  const story = new Mesh();
  story.set({ leaves: story.policy.leaves.filter(({ object }) => object === 'web') });
  story.objects.delete('pay/secrets/api');
  story.consumers = story.consumers.filter(({ id }) => id === 'web');
  story.rotated('r').pass(day);
  expect(story.run()).toEqual([]);
  expect(story.roles()).toBe('2:current 1:retained');
  expect(story.notes('Retained')[0]).toContain('pay/secrets/api (holds no newer leaf)');
});

test('a leaf elsewhere is remembered in the state before it is signed, without a new revision', () => {
  const story = new Story().leaf('far');
  story.set({ leaves: story.policy.leaves.map((leaf) => ({ ...leaf, elsewhere: true })) });
  const done = story.run();
  expect(done.map(({ kind }) => kind)).toEqual(['mint', 'write-bundle', 'record-issuance', 'write-leaf']);
  expect(story.authority).toMatchObject({
    revision: 1,
    generations: [{ elsewhere: { until: instant(story.now + 90 * day), objects: ['far'] } }],
  });
});

test.each([
  ['that are many', MOST_NAMED_ELSEWHERE + 1, ''],
  ['with long names, which have to fit into the state', 200, 'x'.repeat(300)],
])('the objects of other namespaces %s are remembered by their last end alone', (_, count, more) => {
  const leaves = Array.from({ length: count }, (__, at) => ({
    object: `far-${at}${more}`,
    spec: 'v1',
    lifetime: duration(90 * day),
    renewAt: 0.66,
    elsewhere: true,
  }));
  const story = new Story().set({ leaves });
  story.run();
  expect(story.authority?.generations[0]?.elsewhere).toEqual({
    objects: [],
    unnamedUntil: instant(story.now + 90 * day),
  });
});

test('a leaf elsewhere without a name, such as that of a pod, keeps no names from being known, and no CA for longer than it lives', () => {
  const story = new Mesh();
  const lent = recordExternalSigning(story.authority ?? expect.fail('no authority'), {
    notAfter: instant(story.now + 2 * day),
    isUnseen: false,
    forPod: true,
    elsewhere: 'unnamed',
  });
  story.authority = lent;
  story.rotated('r');
  expect(story.notes('Retained')[0]).toMatch(
    /for 1 workload elsewhere: pay\/api \(restart pending\), and for leaves whose users cannot be seen, until 2030-04-01 at most$/,
  );
  story.begunAnew().pass(minute);
  expect(story.run()).toEqual([]);
  story.pass(4 * day);
  expect(story.run()[0]).toMatchObject({ kind: 'drop', generation: 1 });
});

test('leaves that an adopted CA signs elsewhere are remembered by name, and those from before end with the day that its owner gave', () => {
  const story = new Story().leaf('far');
  story.set({ leaves: story.policy.leaves.map((leaf) => ({ ...leaf, elsewhere: true })) });
  story.adoptable = [anchor('old', instant(T0 - day))];
  const until = instant(T0 + 3 * day);
  const seen = { ...story.seen, adoptableKey: true, adoptableUntil: until };
  for (const action of plan(seen, story.policy, story.now).actions) story.act(action);
  story.run();
  expect(story.authority?.generations).toMatchObject([
    {
      adopted: true,
      unseenUntil: until,
      elsewhere: { objects: ['far'], until: instant(T0 + 90 * day) },
    },
  ]);
});

test('verifiers elsewhere without the CA that signs are named before another rotation overtakes them', () => {
  const story = new Mesh().rotated('r');
  expect(story.notes('BehindElsewhere')).toEqual([
    'CA generation 2 pay/api in other namespaces has not loaded it; another rotation would make it refuse new certificates',
  ]);
  story.begunAnew().pass(minute).run();
  expect(story.notes('BehindElsewhere')).toEqual([]);
});

test('where no cross-certificate helps, verifiers elsewhere that have not loaded the new CA in time are named in the step and after it', () => {
  const story = new Story().leaf('web');
  story.adoptable = [anchor('old', instant(T0 - day))];
  const held = story.leaf('pay/secrets/api');
  held.set({
    leaves: held.policy.leaves.map((leaf) => (leaf.object === 'web' ? leaf : { ...leaf, elsewhere: true })),
    bundles: [
      { object: 'trust', extra: [] },
      { object: 'pay/trust', extra: [], elsewhere: true },
    ],
  });
  story.consumer('pay/api', { verifies: ['pay/trust'], reload: 'hot', blocks: false });
  story.run();
  story.acknowledge('pay/api', { anchors: ['old'] }).pass(hour);
  const steps = story
    .run()
    .flatMap((action) => ('why' in action && action.kind === 'activate' ? [action.why] : []));
  expect(steps).toEqual([
    'every verifier holds CA generation 1, but pay/api in other namespaces did not confirm in time',
  ]);
  expect(notesOf(story, 'BehindElsewhere')).toEqual([
    'CA generation 1 pay/api in other namespaces has not loaded it; no cross-certificate covers it, and new certificates are refused there',
  ]);
});

/** A Secret of another namespace that cert-manager writes. */
const lent = (id: string, ca: string, at: number): ObjectSeen => ({
  id,
  version: '1',
  revision: undefined,
  elsewhere: true,
  changedAt: instant(at),
  anchors: [{ fingerprint: ca, since: instant(at) }],
  leaf: {
    fingerprint: `${id}-${ca}`,
    issuer: ca,
    chain: [],
    notBefore: instant(at),
    notAfter: instant(at + 80 * day),
    spec: 'lent',
    writtenAt: instant(at),
    issuerSince: instant(at),
    replacedOne: false,
    othersExpire: undefined,
  },
  writtenBy: { program: 'cert-manager', asked: 'never', namespace: 'shop', since: T0 },
});

test.each(['an earlier version', 'a backup'])(
  'a state of %s that does not say what was signed for a Secret keeps its CA, though it remembers another',
  (from) => {
    const story = new Mesh();
    const id = 'shop/secrets/db';
    story.objects.set(id, lent(id, 'ca1', story.now));
    story.consumer('shop/db', {
      presents: [id],
      verifies: [],
      reload: 'restart',
      blocks: false,
      workload: undefined,
    });
    const [first, ...rest] = story.authority?.generations ?? [];
    if (story.authority === undefined || first === undefined) expect.fail('no authority');
    const { elsewhere: _, ...older } = first;
    const generation = from === 'a backup' ? first : older;
    story.authority = { ...story.authority, generations: [generation, ...rest] };
    story.leaf('pay/secrets/two');
    story.set({
      leaves: story.policy.leaves.map((leaf) =>
        leaf.object === 'web' ? leaf : { ...leaf, elsewhere: true },
      ),
    });
    story.rotate.push('r');
    for (let round = 0; round < 6; round++) {
      story.run();
      story.acknowledge('web').pass(4 * minute);
      if (story.roles().startsWith('2:current') && story.objects.get(id)?.leaf?.issuer === 'ca1')
        story.objects.set(id, lent(id, 'ca2', story.now));
    }
    story.run();
    story.begunAnew().pass(minute).run();
    expect(story.roles()).toBe('2:current 1:retained');
  },
);

test('a stamp of a pod elsewhere is no evidence: it may be from another cluster', () => {
  const stamp = { trust: 5, distrusts: 0, issuer: 5, leaf: 'abcd' };
  const story = new Mesh({
    workload: { stamp, rolling: false },
    instances: [{ uid: 'p', createdAt: T0, ready: true, stamp, proofs: [] }],
  }).rotated('r');
  expect(story.roles()).toBe('2:current 1:retained');
});

test('leaves lent to other namespaces hold nothing up in the own one', () => {
  const state = new Mesh().authority ?? expect.fail('no authority');
  const asked = {
    notAfter: instant(T0 + 300 * day),
    isUnseen: false,
    elsewhere: { object: 'shop/secrets/x' },
  };
  const raised = recordExternalSigning(state, asked)?.generations[0];
  expect(raised).toMatchObject({ elsewhere: { until: T0 + 300 * day } });
  expect(raised?.lentUntil).toBeUndefined();
  expect(raised?.podsUntil).toBeUndefined();
});

test('a paused Authority drops no retained CA', () => {
  const story = new Mesh().rotated('r').begunAnew().pass(minute).set({ paused: true });
  expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [], blockedBy: [] });
});

test('a workload of another namespace that comes late drops no CA for those that read the Secret before, nor does a Job', () => {
  for (const late of [{ completes: true as const }, { reload: 'hot' as const, ownersWord: true }]) {
    const story = new Mesh();
    story.consumers = story.consumers.filter(({ id }) => id === 'web');
    story.rotated('r').pass(day);
    story.consumer('pay/late', {
      presents: ['pay/secrets/api'],
      verifies: [],
      createdAt: story.now,
      blocks: false,
      workload: undefined,
      ...late,
    });
    story.acknowledge('pay/late').pass(hour).run();
    expect(story.roles()).toBe('2:current 1:retained');
    expect(story.notes('Retained')[0]).toContain(
      'pay/secrets/api (its known workloads came later, or end by themselves)',
    );
  }
});

test('a retained CA remembers when it stopped signing, and where a state does not say, no workload with a date speaks for others', () => {
  const story = new Mesh({ createdAt: instant(T0 - day) }).rotated('r').acknowledge('pay/api');
  const [current, retained] = story.authority?.generations ?? [];
  expect(retained?.stoppedAt).toBe(current?.since);
  const { stoppedAt: _, ...older } = retained ?? {};
  if (story.authority !== undefined && current !== undefined)
    story.authority = { ...story.authority, generations: [current, older as typeof current] };
  story.pass(hour).run();
  expect(story.roles()).toBe('2:current 1:retained');
  if (story.authority !== undefined && current !== undefined && retained !== undefined)
    story.authority = { ...story.authority, generations: [current, retained] };
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('where too many CAs are retained, one that only other namespaces need goes before one that its own namespace needs', () => {
  const story = new Mesh();
  const [first] = story.authority?.generations ?? [];
  if (story.authority && first)
    story.authority = {
      ...story.authority,
      generations: [{ ...first, unseenUntil: instant(T0 + 900 * day) }],
    };
  for (let rotation = 0; rotation < MOST_RETAINED; rotation++) story.rotated(`r${rotation}`);
  expect(story.notes('Retained').at(-2)).toMatch(/^CA generation 2 .*; the next rotation drops it$/);
  expect(story.notes('Retained').at(-1)).not.toContain('drops it');
  story.rotated('last');
  expect(story.authority?.generations.filter(({ role }) => role === 'retained')).toHaveLength(MOST_RETAINED);
  expect(story.roles()).toMatch(/3:retained 1:retained$/);
});

test('a Secret that no Leaf asks for any more holds nothing up, and its CA stays trusted until its leaf has ended', () => {
  const story = new Mesh().leaf('vm');
  story.run();
  const end = story.objects.get('vm')?.leaf?.notAfter ?? 0;
  story.set({ leaves: story.policy.leaves.filter(({ object }) => object !== 'vm') });
  const seen = story.objects.get('vm');
  if (seen !== undefined) story.objects.set('vm', { ...seen, forsaken: true });
  story.pass(day).rotated('r').acknowledge('pay/api').rotated('s');
  expect(story.plan()).toMatchObject({ phase: 'Stable', blockedBy: [] });
  expect(story.authority?.generations.at(-1)).toMatchObject({
    number: 1,
    role: 'retained',
    unseenUntil: end,
  });
  // The CA between has signed nothing for it.
  expect(story.authority?.generations[1]?.unseenUntil).toBeUndefined();
  story.now = instant(end + hour);
  story.run();
  expect(story.roles()).not.toContain('1:');
});

test('a Secret that no Leaf asks for and whose CA is not trusted any more keeps no other CA trusted', () => {
  const story = new Mesh().leaf('vm');
  story.run();
  story.set({ leaves: story.policy.leaves.filter(({ object }) => object !== 'vm') });
  const seen = story.objects.get('vm');
  if (seen?.leaf !== undefined)
    story.objects.set('vm', { ...seen, forsaken: true, leaf: { ...seen.leaf, issuer: 'distrusted' } });
  story.pass(day).rotated('r');
  expect(story.authority?.generations.at(-1)?.unseenUntil).toBeUndefined();
  story.acknowledge('pay/api').run();
  expect(story.roles()).toBe('2:current');
});
