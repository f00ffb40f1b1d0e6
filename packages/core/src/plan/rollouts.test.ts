import { day, duration, hour } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { Story, T0, waits } from '../../test/story.ts';
import type { Proof } from './observed.ts';
import type { Stamp } from './stamp.ts';

describe('restart-only workloads', () => {
  /** Without what is said of chains: chains.test.ts. */
  const notesOf = (story: Story) =>
    story.plan().notes.filter(({ code }) => code !== 'RestsOnCrossCertificate');

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

  test('restart-only workloads are stamped when caches are out of reach, two at a time, once per rotation', () => {
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

  test('restart-only workloads that were restarted and still show the old leaf hold the old CA', () => {
    const story = activated();
    const old = story.authority?.generations.find(({ role }) => role === 'previous')?.anchors[0].fingerprint;
    const show = (proofs: readonly Proof[]): void => {
      story.consumers = story.consumers.map((one) =>
        one.id === 'a' ? { ...one, instances: one.instances.map((pod) => ({ ...pod, proofs })) } : one,
      );
    };
    show([{ by: 'probed', at: story.now, ...(old === undefined ? {} : { issuer: old }) }]);
    for (let wave = 0; wave < 3; wave += 1) {
      story.pass(10_000).run();
      for (const id of ['a', 'b', 'c']) rolled(story, id);
    }
    story.pass(day).run();
    expect(story.roles()).toBe('2:current 1:previous');
    expect(waits(story)[0]).toContain(
      'a-0: it was restarted and still shows the old certificate: does it start from a copy that it keeps?',
    );
    show([]);
    story.run();
    expect(story.roles()).toBe('2:current');
  });

  test('restart-only workloads that nothing can restart are named, and hold the old CA', () => {
    const story = activated();
    story.consumers = story.consumers.slice(0, 1).map((one) => ({ ...one, workload: undefined }));
    story.pass(day);
    expect(notesOf(story)).toMatchObject([{ code: 'CannotRestart', object: 'a' }]);
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

  test('restart-only workloads that will be away, or that nothing can restart, are named before the first of them is rolled', () => {
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
    expect(story.plan()).toMatchObject({ actions: [] });
    expect(notesOf(story)).toEqual(notes);
    story.acknowledgeAll().run();
    expect(story.plan()).toMatchObject({ phase: 'Activating', actions: [] });
    expect(notesOf(story)).toEqual(notes);
    story.pass(10_000);
    expect(story.plan()).toMatchObject({ actions: [{ kind: 'stamp', consumer: 'a' }] });
    expect(notesOf(story)).toEqual(notes);
    story.run();
    rolled(story, 'a');
    expect(notesOf(story)).toMatchObject([{ code: 'CannotRestart', object: 'b' }]);
  });

  test('a restart-only workload whose rollout fails is named, and keeps no place that others wait for', () => {
    const story = activated().pass(10_000);
    story.run();
    expect(story.plan().actions).toEqual([]);
    known(story, 'a', { failing: 'no progress' });
    expect(story.plan()).toMatchObject({ actions: [{ kind: 'stamp', consumer: 'c' }] });
    expect(notesOf(story)).toEqual([{ code: 'RolloutFailing', object: 'a', message: 'no progress' }]);
    story.run();
    for (const id of ['b', 'c']) rolled(story, id);
    story.pass(day);
    expect(waits(story)[0]).toMatch(/^a: to restart .*\(missing: a-\d/);
  });

  test('a restart-only workload whose rollout fails for reasons of its own is not reported', () => {
    const story = new Story().leaf('web');
    pods(story, 'a', 1);
    known(story, 'a', { failing: 'no progress' });
    story.run();
    expect(story.plan().notes).toEqual([]);
  });

  test('restart-only workloads are rolled after a renewal, in good time before their leaf ends', () => {
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

  const stamped = (story: Story, stamp: Stamp): void => {
    story.consumers = story.consumers.map((one) => ({
      ...one,
      workload: { stamp, rolling: false },
      instances: one.instances.map((pod) => ({ ...pod, stamp })),
    }));
  };

  test.each<[string, Stamp]>([
    ['that names no CA', { trust: 7, distrusts: 0, issuer: 7, leaf: '12345678' }],
    ['of a CA that is gone', { trust: 7, distrusts: 0, issuer: 7, leaf: '12345678', ca: 'ca7' }],
    ['of another CA 2', { trust: 2, distrusts: 0, issuer: 2, leaf: '12345678', ca: 'theirs' }],
  ])('restart-only workloads that were restored with a stamp %s are rolled', (_, stamp) => {
    const story = new Story().leaf('web');
    pods(story, 'a', 2);
    story.run();
    stamped(story, stamp);
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    story.pass(10_000);
    expect(story.plan().actions).toMatchObject([{ kind: 'stamp', consumer: 'a', stamp: { ca: 'ca2' } }]);
    story.run();
    expect(story.roles()).toBe('2:current 1:previous');
    rolled(story, 'a');
    story.run();
    expect(story.roles()).toBe('2:current');
  });

  test('restart-only workloads that were restored with a stamp of a CA that is gone are rolled after a renewal', () => {
    const story = new Story().leaf('web', duration(30 * day));
    pods(story, 'a', 1);
    story.run();
    stamped(story, { trust: 7, distrusts: 0, issuer: 7, leaf: '12345678', ca: 'ca7' });
    story.pass(20 * day).run();
    story.pass(10_000);
    expect(story.plan().actions).toMatchObject([{ kind: 'stamp', consumer: 'a', stamp: { trust: 1 } }]);
  });

  test('restart-only workloads that an earlier version stamped, without the name of a CA, are not rolled for that', () => {
    const story = activated().pass(10_000);
    const state = story.authority ?? expect.fail('no authority');
    const generations = state.generations.map(({ namedInStamps: _, ...generation }) => generation);
    story.authority = { ...state, generations };
    const leaf = story.objects.get('web')?.leaf?.fingerprint.slice(0, 8) ?? '';
    stamped(story, { trust: 2, distrusts: 0, issuer: 2, leaf });
    expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle', 'write-leaf']);
    expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [] });
  });
});
