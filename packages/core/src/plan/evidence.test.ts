import { day, duration, hour, instant, minute } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { Story, waits } from '../../test/story.ts';
import type { Proof } from './observed.ts';

describe('evidence', () => {
  const introducing = (
    change: Parameters<Story['consumer']>[1] = {},
    policy = {},
    chain?: 'strips',
  ): Story => {
    const story = new Story().set(policy).consumer('v', change);
    if (chain !== undefined) story.shows('v', chain);
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    return story;
  };

  test('reloadWithin alone opens gate 1 for a hot consumer that says nothing', () => {
    const story = introducing();
    expect(waits(story)).toEqual(['v: to load CA generation 2']);
    expect(story.pass(180_000).plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('reloadWithin alone never overrules a consumer that says it has not loaded', () => {
    const story = introducing({ ownersWord: true });
    story.acknowledge('v', { anchors: ['ca1'] }).pass(hour);
    expect(waits(story)).toEqual(['v: to load CA generation 2']);
  });

  test('reloadWithin alone never overrules a canary that was refused beside its control', () => {
    const story = introducing({ ownersWord: true });
    const [v] = story.consumers;
    const instances = v?.instances.map((one) => ({
      ...one,
      proofs: [{ by: 'probed' as const, refuses: ['ca2'], at: story.now }],
    }));
    if (v && instances) story.consumers = [{ ...v, instances }];
    expect(waits(story.pass(hour))).toEqual(['v: to load CA generation 2']);
  });

  test('an accepted canary alone is evidence', () => {
    const story = introducing();
    const [v] = story.consumers;
    const proofs = [{ by: 'probed' as const, anchors: ['ca2'], at: story.now }];
    if (v) story.consumers = [{ ...v, instances: v.instances.map((one) => ({ ...one, proofs })) }];
    expect(story.plan().actions).toMatchObject([{ kind: 'activate' }]);
  });

  test('the cross-certificate stands in for a restart-only verifier, but not where a presenter strips it', () => {
    expect(introducing({ reload: 'restart' }).roles()).toBe('2:current 1:previous');
    const strict = introducing({ reload: 'restart' }, {}, 'strips');
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

  test('a handshake with one port says nothing of the other Secrets that a pod presents', () => {
    const story = new Story()
      .leaf('a')
      .leaf('b')
      .consumer('v', { presents: ['a', 'b'], verifies: ['a'] });
    story.run();
    story.rotate.push('r');
    for (let round = 0; round < 4; round++) {
      story.run();
      story.acknowledge('v').pass(4 * minute);
    }
    expect(story.roles()).toBe('2:current');
    story.rotate.push('s');
    story.run();
    story.acknowledge('v', { anchors: ['ca3', 'ca2'], issuer: 'ca2' }).run();
    const fingerprint = story.objects.get('a')?.leaf?.fingerprint ?? '';
    const probed: Proof = {
      by: 'probed',
      issuer: 'ca3',
      anchors: ['ca3', 'ca2'],
      leaves: [{ fingerprint }],
      at: story.now,
    };
    story.consumers = story.consumers.map((one) => ({
      ...one,
      instances: one.instances.map((instance) => ({ ...instance, proofs: [probed] })),
    }));
    story.pass(hour);
    expect(waits(story)).toEqual(['v: to load a leaf of CA generation 3']);
  });

  test('a leaf that is known proves its own object only, however it was shown, and whatever a pod presents beside it', () => {
    for (const [presents, by] of [
      [['b'], 'probed'],
      [['a', 'b'], 'acknowledged'],
    ] as const) {
      const story = new Story()
        .leaf('a')
        .leaf('b')
        .consumer('v', { presents, verifies: ['a'] });
      story.consumer('a', { presents: ['a'], verifies: ['a'] });
      story.run();
      story.pass(day).rotate.push('r');
      story.run();
      story.acknowledgeAll().pass(minute).run();
      const fingerprint = story.objects.get('a')?.leaf?.fingerprint ?? '';
      const proof: Proof = {
        by,
        issuer: 'ca2',
        anchors: ['ca2', 'ca1'],
        leaves: [{ fingerprint }],
        at: story.now,
      };
      story.acknowledge('a');
      story.consumers = story.consumers.map((one) =>
        one.id === 'v'
          ? { ...one, instances: one.instances.map((instance) => ({ ...instance, proofs: [proof] })) }
          : one,
      );
      story.pass(minute).run();
      expect(waits(story)).toEqual(['v: to load a leaf of CA generation 2']);
    }
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
