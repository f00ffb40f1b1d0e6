import { day, duration, hour, instant, minute } from '@handover/material';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anchor, LIFETIME, Story, T0, waits } from '../../test/story.ts';
import { explain } from './explain.ts';

test('a first install makes generation 1, then writes every object once, and restarts nothing', () => {
  const story = new Story()
    .leaf('web')
    .consumer('old', { reload: 'restart', presents: ['web'], verifies: ['web'] });
  expect(story.run().map((action) => action.kind)).toEqual(['mint', 'write-bundle', 'write-leaf']);
  expect(story.roles()).toBe('1:current');
  story.pass(hour);
  expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [], blockedBy: [] });
});

test('a first install retires nothing, whatever cannot be written', () => {
  const story = new Story().leaf('web').leaf('api');
  story.run();
  const [web, trust] = [story.objects.get('web'), story.objects.get('trust')];
  const absent = { version: '', revision: undefined, anchors: [], changedAt: story.now, leaf: undefined };
  story.objects.set('api', { id: 'api', ...absent, obstacle: 'no such user' });
  if (web && trust) story.objects.set('web', { ...web, revision: 0, obstacle: 'read-only' });
  expect(story.plan()).toMatchObject({ phase: 'Stable' });
});

test('a first install takes CAs that are in use as a generation without a key, and puts the new one beside them first', () => {
  const story = new Story();
  story.adoptable = [anchor('theirs'), anchor('carried over')];
  story.run();
  expect(story.roles()).toBe('1:next 0:current');
  expect(story.held('trust')).toBe('ca1 theirs carried over');
  expect(story.plan().blockedBy).not.toEqual([]);
});

test('a first install goes on counting from what is out there when its state was lost', () => {
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

  test('a rotation sends one cross-certificate, also while that of the rotation before is alive', () => {
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

  test('a rotation goes from trust to leaves to retirement as evidence comes in, and no further', () => {
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

  test('a rotation happens once for each id, and a later id waits its turn', () => {
    const story = begun().acknowledgeAll();
    story.rotate = ['monday', 'tuesday'];
    for (let step = 0; step < 12; step++) story.acknowledgeAll().pass(minute).run();
    expect(story.authority?.ids).toEqual(['monday', 'tuesday']);
    expect(story.roles()).toBe('3:current');
    expect(story.plan().actions).toEqual([]);
  });

  test('a rotation begins by itself at its share of the CA’s life, and says when to look again', () => {
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

  test('a rotation stops before its next step while it is paused', () => {
    const story = begun().set({ paused: true });
    expect(story.run()).toEqual([]);
    expect(waits(story)).toEqual(['rotation.paused: paused: set spec.rotation.paused to false to go on']);
    story.set({ paused: false });
    expect(story.plan().actions).toMatchObject([{ kind: 'mint' }]);
  });

  test('a rotation waits for an object of another namespace that cannot be written no longer than reloadWithin', () => {
    const story = begun().consumer('far', { blocks: false, verifies: ['trust'] });
    story.run();
    story.acknowledge('web');
    expect(waits(story)).toEqual(['far: to load CA generation 2']);
    expect(story.plan().wakeAt).toBe(story.now + 180_000);
    story.pass(180_000);
    expect(story.plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('a rotation names an object that cannot be written, and writes the others', () => {
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

  test('a rotation with strategy Instant changes a Secret once and only then asks', () => {
    const story = begun().acknowledgeAll().set({ strategy: 'Instant' });
    const done = story.run();
    expect(done.map((action) => action.kind)).toEqual(['mint', 'activate', 'write-bundle', 'write-leaf']);
    expect(story.held('web')).toBe('ca2 ca1');
    expect(waits(story).length).toBeGreaterThan(0);
  });

  test('a rotation becomes Phased, and says so, where the old CA has no key', () => {
    const story = new Story().set({ strategy: 'Instant' }).consumer('web');
    story.adoptable = [anchor('theirs')];
    story.run();
    expect(story.roles()).toBe('1:next 0:current');
    expect(story.plan().notes).toMatchObject([{ code: 'InstantBecamePhased' }]);
  });

  test('a rotation opens gate 1 at its deadline, three quarters into what was left of the old CA', () => {
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
      actions: [
        {
          kind: 'activate',
          why: 'the deadline has passed, although web did not confirm; web relies on the cross-certificate, and no probe or status document has shown that web sends it',
        },
      ],
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

test('Proceed keeps the old CA while a leaf of it may be served', () => {
  const story = new Story()
    .set({ onBlocked: 'Proceed', patience: duration(hour) })
    .leaf('web')
    .consumer('web', { presents: ['web'], verifies: ['web'] });
  story.run();
  const { notAfter, fingerprint } = story.objects.get('web')?.leaf ?? { notAfter: T0, fingerprint: '' };
  story.pass(day);
  story.rotate = ['r'];
  story.run();
  story.acknowledgeAll();
  story.run();
  expect(story.roles()).toBe('2:current 1:previous');
  const old = story.objects.get('web')?.leaf?.othersExpire;
  expect(old).toBe(notAfter);
  story.acknowledge('web', { issuer: 'ca1', leaves: [{ fingerprint, notAfter }] });
  story.pass(2 * hour);
  story.now = instant(notAfter + hour - 1);
  story.run();
  expect(story.roles()).toBe('2:current 1:previous');
  story.now = instant(notAfter + hour);
  // The leaf was due as well: kubelets may hand out the one before for a while.
  story.run();
  story.pass(hour);
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('where no cross-certificate helps, gate 1 opens only when little is left of the old CA', () => {
  const story = new Story().consumer('stuck').shows('stuck', 'strips');
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

test('a plan on the result of its own actions has nothing more of the same kind', () => {
  const consumer = fc.record({
    reload: fc.constantFrom('hot' as const, 'restart' as const, 'unknown' as const, 'field' as const),
    ownersWord: fc.boolean(),
    blocks: fc.boolean(),
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
