import { day, duration, hour, instant, minute } from '@handover/material';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anchor, LIFETIME, Story, T0 } from '../../test/story.ts';
import { explain } from './explain.ts';

const waits = (story: Story): string[] =>
  story.plan().blockedBy.map((one) => `${one.consumer}: ${one.waitsFor}`);

describe('a first install', () => {
  test('makes generation 1, then writes every object once, and restarts nothing', () => {
    const story = new Story()
      .leaf('web')
      .consumer('old', { reload: 'restart', presents: ['web'], verifies: ['web'] });
    expect(story.run().map((action) => action.kind)).toEqual(['mint', 'write-bundle', 'write-leaf']);
    expect(story.roles()).toBe('1:current');
    story.pass(hour);
    expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [], blockedBy: [] });
  });

  test('takes CAs that are in use as a generation without a key, and puts the new one beside them first', () => {
    const story = new Story();
    story.adoptable = [anchor('theirs'), anchor('carried over')];
    story.run();
    expect(story.roles()).toBe('1:next 0:current');
    expect(story.held('trust')).toBe('ca1 theirs carried over');
    expect(story.plan().blockedBy).not.toEqual([]);
  });

  test('goes on counting from what is out there when its state was lost', () => {
    const story = new Story().consumer('old', {
      reload: 'restart',
      workload: { stamp: { trust: 7, distrusts: 0 }, rolling: false },
    });
    story.objects.set('trust', {
      id: 'trust',
      version: '4',
      revision: 21,
      anchors: [{ fingerprint: 'ca7', since: T0 }],
      changedAt: T0,
      leaf: undefined,
    });
    story.adoptable = [anchor('ca7')];
    expect(story.plan().actions).toMatchObject([
      { kind: 'mint', generation: 8, revision: 22, expect: undefined },
    ]);
    story.run();
    expect(story.roles()).toBe('8:next 7:current');
  });
});

describe('a rotation', () => {
  const begun = (change: Partial<Parameters<Story['consumer']>[1]> = {}): Story => {
    const story = new Story()
      .leaf('web')
      .consumer('web', { presents: ['web'], verifies: ['web'], ...change });
    story.run();
    story.pass(day);
    story.rotate = ['monday'];
    return story;
  };

  test('sends one cross-certificate, also while that of the rotation before is alive', () => {
    const story = begun().acknowledgeAll();
    for (const id of ['monday', 'tuesday']) {
      story.rotate = [id];
      for (let step = 0; step < 3; step++) {
        story.run();
        story.acknowledgeAll().pass(10_000);
      }
      story.run();
      expect(story.plan().phase).toBe('Stable');
    }
    expect(story.objects.get('web')?.leaf).toMatchObject({ issuer: 'ca3', chain: ['x3'] });
  });

  test('goes from trust to leaves to retirement as evidence comes in, and no further', () => {
    const story = begun().acknowledgeAll();
    expect(story.run().map((action) => action.kind)).toEqual(['mint', 'write-bundle', 'write-leaf']);
    expect(story.plan().phase).toBe('Introducing');
    expect(waits(story)).toEqual(['web: to load CA generation 2']);

    story.acknowledgeAll();
    expect(story.run().map((action) => action.kind)).toEqual(['activate', 'write-bundle', 'write-leaf']);
    expect(story.objects.get('web')?.leaf).toMatchObject({ issuer: 'ca2', chain: ['x2'] });
    expect(story.plan().phase).toBe('Activating');
    expect(waits(story)[0]).toBe('web: to load a leaf of CA generation 2');

    story.acknowledgeAll();
    expect(waits(story)).toContain(
      'web: to take effect: for 10 s after the write a kubelet may still hand out the old leaf',
    );
    story.pass(10_000);
    expect(story.run().map((action) => action.kind)).toEqual(['retire', 'write-bundle', 'write-leaf']);
    expect(story.roles()).toBe('2:current');
    expect(story.held('trust')).toBe('ca2');
    expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [], blockedBy: [] });
  });

  test('happens once for each id, and a later id waits its turn', () => {
    const story = begun().acknowledgeAll();
    story.rotate = ['monday', 'tuesday'];
    for (let step = 0; step < 12; step++) story.acknowledgeAll().pass(minute).run();
    expect(story.authority?.ids).toEqual(['monday', 'tuesday']);
    expect(story.roles()).toBe('3:current');
    expect(story.plan().actions).toEqual([]);
  });

  test('begins by itself at its share of the CA’s life, and says when to look again', () => {
    const story = begun();
    story.rotate = [];
    const due = T0 + 0.8 * LIFETIME;
    story.now = instant(due - 1);
    const early = story.plan();
    expect(early.actions.filter((action) => action.kind === 'mint')).toEqual([]);
    story.run();
    expect(story.plan().wakeAt).toBe(due);
    story.now = instant(due);
    expect(story.plan().actions).toMatchObject([{ kind: 'mint', id: 'schedule-1' }]);
  });

  test('stops before its next step while it is paused', () => {
    const story = begun().set({ paused: true });
    expect(story.run()).toEqual([]);
    expect(waits(story)).toEqual(['rotation.paused: paused: set spec.rotation.paused to false to go on']);
    story.set({ paused: false });
    expect(story.plan().actions).toMatchObject([{ kind: 'mint' }]);
  });

  test('waits for an object of another namespace that cannot be written no longer than reloadWithin', () => {
    const story = begun().consumer('far', { blocks: false, verifies: ['trust'] });
    story.run();
    story.acknowledge('web');
    expect(waits(story)).toEqual(['far: to load CA generation 2']);
    expect(story.plan().wakeAt).toBe(story.now + 180_000);
    story.pass(180_000);
    expect(story.plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('names an object that cannot be written, and writes the others', () => {
    const story = begun();
    const trust = story.objects.get('trust');
    if (trust) story.objects.set('trust', { ...trust, obstacle: 'forbidden' });
    expect(story.run().map((action) => ('object' in action ? action.object : action.kind))).toEqual([
      'mint',
      'web',
    ]);
    story.acknowledge('web');
    expect(waits(story)).toEqual(['trust: to be writable: forbidden']);
  });

  test('changes a Secret once and only then asks when it is Instant', () => {
    const story = begun().acknowledgeAll().set({ strategy: 'Instant' });
    const done = story.run();
    expect(done.map((action) => action.kind)).toEqual(['mint', 'activate', 'write-bundle', 'write-leaf']);
    expect(story.held('web')).toBe('ca2 ca1');
    expect(waits(story).length).toBeGreaterThan(0);
  });

  test('becomes Phased, and says so, where the old CA has no key', () => {
    const story = new Story().set({ strategy: 'Instant' }).consumer('web');
    story.adoptable = [anchor('theirs')];
    story.run();
    expect(story.roles()).toBe('1:next 0:current');
    expect(story.plan().notes).toMatchObject([{ code: 'InstantBecamePhased' }]);
  });

  test('opens gate 1 at its deadline, three quarters into what was left of the old CA', () => {
    const story = begun();
    story.run();
    story.acknowledge('web', { anchors: ['ca1'] });
    const minted = story.now;
    const end = story.authority?.generations.find((one) => one.number === 1)?.anchors[0].notAfter ?? 0;
    story.now = instant(minted + 0.75 * (end - minted) - 1);
    story.run();
    expect(waits(story)).toEqual(['web: to load CA generation 2']);
    story.pass(1);
    expect(story.plan()).toMatchObject({
      actions: [{ kind: 'activate', why: 'the deadline has passed, although web did not confirm' }],
      notes: [{ code: 'DeadlinePassed' }],
    });
  });
});

test('a step names the consumers that Proceed did not wait for, and says that all confirmed only when they did', () => {
  const story = new Story().set({ onBlocked: 'Proceed', patience: duration(hour) });
  for (const id of ['a', 'b', 'c', 'd']) story.consumer(id);
  story.run();
  story.pass(day);
  story.rotate = ['r'];
  story.run();
  for (const id of ['a', 'b', 'c', 'd']) story.acknowledge(id, { anchors: ['ca1'] });
  expect(waits(story)).toHaveLength(4);
  story.pass(hour);
  expect(story.plan().actions).toMatchObject([
    {
      kind: 'activate',
      why: 'patience has passed and onBlocked is Proceed, although a, b, c and 1 more did not confirm',
    },
  ]);
  story.acknowledgeAll();
  expect(story.plan().actions).toMatchObject([
    { kind: 'activate', why: 'every verifier holds CA generation 2' },
  ]);
});

test('where no cross-certificate helps, gate 1 opens only when little is left of the old CA', () => {
  const story = new Story().consumer('stuck', { stripsCross: true });
  story.run();
  story.pass(day);
  story.rotate = ['r'];
  story.run();
  story.acknowledge('stuck', { anchors: ['ca1'] });
  const minted = story.now;
  story.now = instant(minted + 0.95 * (T0 + LIFETIME - minted) - 1);
  story.run();
  expect(story.roles()).toBe('2:next 1:current');
  story.pass(1);
  expect(story.plan().actions).toMatchObject([{ kind: 'activate' }]);
});

describe('evidence', () => {
  const introducing = (change: Parameters<Story['consumer']>[1] = {}, policy = {}): Story => {
    const story = new Story().set(policy).consumer('v', change);
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    return story;
  };

  test('time stands at gate 1 for a hot consumer that says nothing', () => {
    const story = introducing();
    expect(waits(story)).toEqual(['v: to load CA generation 2']);
    expect(story.pass(180_000).plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('time never overrules a consumer that says it has not loaded', () => {
    const story = introducing({ ownersWord: true });
    story.acknowledge('v', { anchors: ['ca1'] }).pass(hour);
    expect(waits(story)).toEqual(['v: to load CA generation 2']);
  });

  test('time never overrules a canary that was refused beside its control', () => {
    const story = introducing({ ownersWord: true });
    const [v] = story.consumers;
    const instances = v?.instances.map((one) => ({
      ...one,
      proofs: [{ by: 'probed' as const, refuses: ['ca2'], at: story.now }],
    }));
    if (v && instances) story.consumers = [{ ...v, instances }];
    expect(waits(story.pass(hour))).toEqual(['v: to load CA generation 2']);
  });

  test('a canary that was accepted is enough', () => {
    const story = introducing();
    const [v] = story.consumers;
    const proofs = [{ by: 'probed' as const, anchors: ['ca2'], at: story.now }];
    if (v) story.consumers = [{ ...v, instances: v.instances.map((one) => ({ ...one, proofs })) }];
    expect(story.plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('the cross-certificate stands in for a restart-only verifier, but not where a presenter strips it', () => {
    expect(introducing({ reload: 'restart' }).roles()).toBe('2:current 1:previous');
    const strict = introducing({ reload: 'restart', stripsCross: true });
    expect(waits(strict)).toContain('v: to restart with CA generation 2');
    strict.pass(10_000);
    expect(strict.plan().actions).toMatchObject([{ kind: 'stamp', stamp: { trust: 2 } }]);
  });

  test('a clock that leaps ahead does not make reloadWithin pass', () => {
    const story = introducing();
    story.pass(hour);
    story.steadySince = story.now;
    expect(waits(story)).toEqual(['v: to load CA generation 2']);
    expect(story.pass(180_000).plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('a write that is dated in the future counts from when the clock ran evenly', () => {
    const story = introducing();
    story.pass(-hour);
    story.steadySince = story.now;
    expect(story.pass(179_999).plan().actions).toEqual([]);
    expect(story.pass(1).plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('a pod created strictly after the write and the caches has loaded it', () => {
    const story = introducing({ reload: 'unknown', presents: [] });
    const since = story.now;
    story.pass(minute);
    const pod = (createdAt: number): void => {
      const [v] = story.consumers;
      if (v)
        story.consumers = [
          { ...v, instances: v.instances.map((one) => ({ ...one, createdAt: instant(createdAt) })) },
        ];
    };
    pod(since + 10_000);
    expect(waits(story)).toEqual(['v: to load CA generation 2']);
    pod(since + 10_001);
    expect(story.plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('an unknown consumer is not believed at gate 2 by time alone', () => {
    const story = new Story()
      .leaf('web')
      .consumer('u', { reload: 'unknown', presents: ['web'], verifies: ['web'] });
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    story.pass(hour).run();
    expect(story.roles()).toBe('2:current 1:previous');
    story.pass(day).run();
    expect(waits(story)).toContain('u: to load a leaf of CA generation 2');
  });

  test('a Leaf without a known consumer waits until its old leaf has expired, and an hour longer', () => {
    const story = new Story().leaf('web', duration(10 * day));
    story.run();
    const end = story.objects.get('web')?.leaf?.notAfter ?? 0;
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    expect(story.roles()).toBe('2:current 1:previous');
    story.now = instant(end);
    story.run();
    story.now = instant(end + hour - 1);
    story.run();
    expect(story.roles()).toBe('2:current 1:previous');
    story.pass(1).run();
    expect(story.roles()).toBe('2:current');
  });
});

describe('restart-only workloads', () => {
  const pods = (story: Story, id: string, count: number): void => {
    story.consumer(id, {
      reload: 'restart',
      presents: ['web'],
      verifies: ['web'],
      instances: Array.from({ length: count }, (_, index) => ({
        uid: `${id}-${index}`,
        createdAt: T0,
        ready: true,
        stamp: undefined,
        proofs: [],
      })),
    });
  };
  const activated = (): Story => {
    const story = new Story().leaf('web');
    for (const id of ['a', 'b', 'c']) pods(story, id, 2);
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    expect(story.roles()).toBe('2:current 1:previous');
    return story;
  };
  /** The roll of a workload ends: every pod carries the stamp of its template. */
  const rolled = (story: Story, id: string): void => {
    story.consumers = story.consumers.map((one) =>
      one.id === id && one.workload
        ? {
            ...one,
            workload: { stamp: one.workload.stamp, rolling: false },
            instances: one.instances.map((pod) => ({
              ...pod,
              stamp: one.workload?.stamp,
              createdAt: story.now,
            })),
          }
        : one,
    );
  };

  test('are stamped when caches are out of reach, two at a time, once per rotation', () => {
    const story = activated();
    expect(story.plan().actions).toEqual([]);
    story.pass(10_000);
    expect(story.plan().actions).toMatchObject([
      { kind: 'stamp', consumer: 'a', stamp: { trust: 2, distrusts: 0, issuer: 2 } },
      { kind: 'stamp', consumer: 'b' },
    ]);
    story.run();
    expect(story.plan().actions).toEqual([]);
    rolled(story, 'a');
    expect(story.plan().actions).toMatchObject([{ kind: 'stamp', consumer: 'c' }]);
    story.run();
    for (const id of ['b', 'c']) rolled(story, id);
    expect(story.run().map((action) => action.kind)).toEqual(['retire', 'write-bundle', 'write-leaf']);
    story.pass(hour);
    expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [] });
  });

  test('that nothing can restart are named, and hold the old CA', () => {
    const story = activated();
    story.consumers = story.consumers.slice(0, 1).map((one) => ({ ...one, workload: undefined }));
    story.pass(day);
    expect(story.plan().notes).toMatchObject([{ code: 'CannotRestart', object: 'a' }]);
    expect(waits(story)[0]).toBe('a: to restart with a leaf of CA generation 2 (missing: a-0, a-1)');
  });

  const known = (story: Story, id: string, change: object): void => {
    story.consumers = story.consumers.map((one) =>
      one.id === id
        ? {
            ...one,
            workload: { stamp: one.workload?.stamp, rolling: one.workload?.rolling ?? false, ...change },
          }
        : one,
    );
  };

  test('that will be away, or that nothing can restart, are named before the first of them is rolled', () => {
    const story = new Story().leaf('web');
    for (const id of ['a', 'b']) pods(story, id, 2);
    story.consumer('hot', { verifies: ['web'] });
    known(story, 'a', { warning: 'it is away' });
    known(story, 'b', { obstacle: 'it is paused' });
    story.run();
    expect(story.plan().notes).toEqual([]);
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    expect(story.plan().phase).toBe('Introducing');
    const notes = [
      { code: 'AwayWhileRestarting', object: 'a', message: 'it is away' },
      { code: 'CannotRestart', object: 'b', message: 'it is paused' },
    ];
    expect(story.plan()).toMatchObject({ actions: [], notes });
    story.acknowledgeAll().run();
    expect(story.plan()).toMatchObject({ phase: 'Activating', actions: [], notes });
    story.pass(10_000);
    expect(story.plan()).toMatchObject({ actions: [{ kind: 'stamp', consumer: 'a' }], notes });
    story.run();
    rolled(story, 'a');
    expect(story.plan().notes).toMatchObject([{ code: 'CannotRestart', object: 'b' }]);
  });

  test('one whose rollout fails is named, and keeps no place that others wait for', () => {
    const story = activated().pass(10_000);
    story.run();
    expect(story.plan().actions).toEqual([]);
    known(story, 'a', { failing: 'no progress' });
    expect(story.plan()).toMatchObject({
      actions: [{ kind: 'stamp', consumer: 'c' }],
      notes: [{ code: 'RolloutFailing', object: 'a', message: 'no progress' }],
    });
    story.run();
    for (const id of ['b', 'c']) rolled(story, id);
    story.pass(day);
    expect(waits(story)[0]).toMatch(/^a: to restart .*\(missing: a-\d/);
  });

  test('one whose rollout fails for reasons of its own is not reported', () => {
    const story = new Story().leaf('web');
    pods(story, 'a', 1);
    known(story, 'a', { failing: 'no progress' });
    story.run();
    expect(story.plan().notes).toEqual([]);
  });

  test('are rolled after a renewal, in good time before their leaf ends', () => {
    const story = new Story().leaf('web', duration(30 * day));
    pods(story, 'a', 1);
    story.run();
    story.pass(20 * day).run();
    expect(story.plan().actions).toEqual([]);
    story.pass(10_000);
    expect(story.plan().actions).toMatchObject([
      { kind: 'stamp', consumer: 'a', why: 'its leaf was renewed' },
    ]);
  });
});

describe('objects', () => {
  test('a leaf is never renewed to the end it already has', () => {
    const story = new Story().leaf('web', duration(90 * day)).set({ rotate: { before: duration(0) } });
    story.run();
    const end = story.authority?.generations[0]?.anchors[0].notAfter ?? 0;
    story.now = instant(end - 60 * day);
    expect(story.run().map((action) => action.kind)).toEqual(['write-leaf']);
    expect(story.objects.get('web')?.leaf?.notAfter).toBe(end);
    story.now = instant(end - minute);
    expect(story.plan().actions).toEqual([]);
  });

  test('an expired CA leaves a bundle an hour late, and the last one never', () => {
    const company = anchor('company', T0, 10 * day);
    const story = new Story().set({ bundles: [{ object: 'trust', extra: [company] }] });
    story.run();
    expect(story.held('trust')).toBe('ca1 company');
    story.now = instant(company.notAfter + hour - 1);
    expect(story.plan()).toMatchObject({ actions: [], wakeAt: company.notAfter + hour });
    story.pass(1).run();
    expect(story.held('trust')).toBe('ca1');
    story.set({ paused: true });
    story.now = instant(T0 + LIFETIME + day);
    expect(story.plan()).toMatchObject({
      actions: [],
      notes: [{ code: 'Critical' }, { code: 'Degraded', object: 'trust' }],
    });
  });

  test('one that is ahead of the authority stops every write and is named', () => {
    const story = new Story().leaf('web');
    story.run();
    const trust = story.objects.get('trust');
    if (trust) story.objects.set('trust', { ...trust, revision: 9, anchors: [] });
    story.rotate = ['r'];
    expect(story.plan().actions).toEqual([]);
    expect(waits(story)[0]).toMatch(/^trust: to be no newer than its authority/);
  });

  test('one with an older revision is written again though its bytes are right', () => {
    const story = new Story();
    story.run();
    const trust = story.objects.get('trust');
    if (trust) story.objects.set('trust', { ...trust, revision: 0 });
    expect(story.plan().actions).toMatchObject([{ kind: 'write-bundle', revision: 1, expect: '1' }]);
  });

  test('a new leaf is issued when its spec changes', () => {
    const story = new Story().leaf('web');
    story.run();
    const [leaf] = story.policy.leaves;
    if (leaf) story.set({ leaves: [{ ...leaf, spec: 'v2' }] });
    expect(story.run()).toMatchObject([
      { kind: 'write-leaf', why: 'its spec changed', issue: { replacesOne: true } },
    ]);
  });

  test('a Secret deleted in mid-rotation is not taken for a new one', () => {
    const story = new Story().leaf('web');
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    story.objects.delete('web');
    story.run();
    expect(story.objects.get('web')?.leaf).toMatchObject({ issuer: 'ca2', replacedOne: true });
    expect(story.objects.get('web')?.leaf?.othersExpire).toBeGreaterThan(story.now);
  });
});

test('planning on the result of one’s own actions gives nothing of the same kind', () => {
  const consumer = fc.record({
    reload: fc.constantFrom('hot' as const, 'restart' as const, 'unknown' as const, 'field' as const),
    ownersWord: fc.boolean(),
    blocks: fc.boolean(),
    stripsCross: fc.boolean(),
    presents: fc.constantFrom([], ['web']),
    verifies: fc.constantFrom([], ['web'], ['trust']),
  });
  const step = fc.constantFrom(
    'pass' as const,
    'acknowledge' as const,
    'rotate' as const,
    'distrust' as const,
  );
  fc.assert(
    fc.property(
      fc.array(consumer, { maxLength: 4 }),
      fc.array(fc.tuple(step, fc.integer({ min: 0, max: 200 * day })), { maxLength: 12 }),
      fc.constantFrom('Phased' as const, 'Instant' as const),
      fc.boolean(),
      (consumers, steps, strategy, consumersFound) => {
        const story = new Story().leaf('web').set({ strategy, consumersFound });
        for (const [index, one] of consumers.entries()) story.consumer(`c${index}`, one);
        for (const [what, amount] of steps) {
          if (what === 'pass') story.pass(amount);
          if (what === 'acknowledge') story.acknowledgeAll();
          if (what === 'rotate') story.rotate = [...story.rotate, `r${story.rotate.length}`];
          if (what === 'distrust') story.distrust = [story.authority?.generations[amount % 2]?.number ?? 0];
          story.run();
          expect(story.plan().actions).toEqual([]);
          const again = story.plan();
          expect(explain(again).every((sentence) => sentence.endsWith('.'))).toBe(true);
        }
      },
    ),
    { numRuns: 300 },
  );
});
