import { day, instant } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import { FOREIGN_SPEC } from './observed.ts';

const at = (phase: 'Stable' | 'Introducing' | 'Activating'): Story => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web'] });
  story.run();
  story.acknowledgeAll().pass(day);
  if (phase === 'Stable') return story;
  story.rotate = ['r'];
  story.run();
  if (phase === 'Introducing') return story;
  story.acknowledgeAll().run();
  return story;
};

test('distrust of the only generation puts a new one in its place, vouched for by the old one', () => {
  const story = at('Stable');
  story.distrust = [1];
  const [swap] = story.plan().actions;
  expect(swap).toMatchObject({
    kind: 'distrust',
    generations: [1],
    replacement: { generation: 2, minted: true, crossBy: 1 },
  });
  story.run();
  expect(story.held('trust')).toBe('ca2');
  expect(story.objects.get('web')?.leaf).toMatchObject({ issuer: 'ca2', chain: ['x2'] });
  expect(story.plan().phase).toBe('Retiring');
});

test('distrust of the current generation lets the one that waits take its place', () => {
  const story = at('Introducing');
  story.distrust = [1];
  expect(story.plan().actions).toMatchObject([
    { kind: 'distrust', replacement: { generation: 2, minted: false, crossBy: 1 } },
  ]);
});

test('distrust of the next generation leaves everything else as it is, and its schedule alive', () => {
  const story = at('Introducing');
  story.distrust = [2];
  story.run();
  story.acknowledgeAll().pass(day).run();
  expect(story.roles()).toBe('1:current');
  story.pass(800 * day);
  const actions = story.run();
  expect(actions.filter((action) => action.kind === 'mint')).toMatchObject([
    { generation: 3, id: 'schedule-1-1' },
  ]);
});

test('distrust includes the CA that cross-signed the distrusted one, or its cross-certificate would bring it back', () => {
  const story = at('Activating');
  expect(story.roles()).toBe('2:current 1:previous');
  story.distrust = [2];
  expect(story.plan().actions).toMatchObject([
    // Every verifier holds the previous one, and some may not hold the current one yet.
    { kind: 'distrust', generations: [2, 1], replacement: { generation: 3, crossBy: 1 } },
  ]);
  story.run();
  expect(story.held('trust')).toBe('ca3');
  expect(story.objects.get('web')?.leaf?.chain).toEqual(['x3']);
});

test('distrust of the previous generation keeps the current one', () => {
  const story = at('Activating');
  story.distrust = [1];
  expect(story.plan().actions).toMatchObject([
    { kind: 'distrust', generations: [1], replacement: undefined },
  ]);
});

test('distrust is done only when every verifier is shown to have dropped it', () => {
  const story = at('Stable');
  story.distrust = [1];
  story.run();
  story.acknowledge('web', { anchors: ['ca2', 'ca1'], issuer: 'ca2' }).pass(day);
  expect(story.plan().blockedBy).toMatchObject([
    { consumer: 'web', waitsFor: 'to load a bundle without CA generation 1' },
  ]);
  story.acknowledgeAll();
  expect(story.plan().actions).toMatchObject([{ kind: 'distrust-done', generations: [1] }]);
  story.run();
  expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [] });
});

test('distrust rests on the word of an owner whose server can show only what it trusts, not what it has given up', () => {
  const story = at('Stable');
  const canary = (...anchors: readonly string[]): void => {
    const proof = { by: 'probed', anchors, issuer: 'ca2', at: story.now } as const;
    story.consumers = story.consumers.map((consumer) => ({
      ...consumer,
      ownersWord: true,
      instances: consumer.instances.map((instance) => ({ ...instance, proofs: [proof] })),
    }));
  };
  story.distrust = [1];
  story.run();
  story.pass(day);
  canary('ca2', 'ca1');
  expect(story.plan().blockedBy).toMatchObject([
    { consumer: 'web', waitsFor: 'to load a bundle without CA generation 1' },
  ]);
  canary('ca2');
  expect(story.plan().actions).toMatchObject([{ kind: 'distrust-done', generations: [1] }]);
});

test('distrust does not wait for a pause to end, and of a generation that is gone does nothing', () => {
  const story = at('Stable').set({ paused: true });
  story.distrust = [1];
  expect(story.plan().actions).toMatchObject([{ kind: 'distrust' }]);
  story.distrust = [77];
  expect(story.plan().actions).toEqual([]);
});

test('distrust that one verifier never confirms ends all the same before the current CA does', () => {
  const story = at('Stable');
  story.distrust = [1];
  story.run();
  story.acknowledge('web', { anchors: ['ca2', 'ca1'], issuer: 'ca2' });
  const { since, anchors } = story.authority?.generations[0] ?? { since: 0, anchors: [{ notAfter: 0 }] };
  story.now = instant(since + 0.75 * (anchors[0].notAfter - since) - 1);
  story.run();
  expect(story.roles()).toBe('2:current 1:distrusted');
  story.pass(1);
  expect(story.plan().actions).toMatchObject([{ kind: 'distrust-done' }]);
});

describe('a Leaf that keeps its key', () => {
  const issued = (story: Story) =>
    story.run().flatMap((action) => (action.kind === 'write-leaf' && action.issue ? [action.issue] : []));
  const stable = (): Story => {
    const story = at('Stable');
    story.policy = {
      ...story.policy,
      leaves: story.policy.leaves.map((leaf) => ({ ...leaf, reuseKey: true })),
    };
    return story;
  };

  test('a Leaf that keeps its key keeps it when it is renewed, and through a rotation', () => {
    const story = stable();
    story.pass(70 * day);
    expect(issued(story)).toMatchObject([{ generation: 1, keepsKey: true }]);
    story.rotate = ['r'];
    story.run();
    story.acknowledgeAll();
    expect(issued(story)).toMatchObject([{ generation: 2, keepsKey: true }]);
  });

  test('a Leaf that keeps its key gets a new one after a distrust', () => {
    const story = stable();
    story.distrust = [1];
    const [issue] = issued(story);
    expect(issue).toMatchObject({ generation: 2 });
    expect(issue?.keepsKey).toBeUndefined();
  });

  test('a Leaf that keeps its key gets a new one where another program has put a key, and while it has none', () => {
    const story = stable();
    const web = story.objects.get('web');
    if (web?.leaf === undefined) throw new Error('there is a leaf');
    story.objects.set('web', { ...web, leaf: { ...web.leaf, spec: FOREIGN_SPEC } });
    expect(issued(story)[0]).not.toHaveProperty('keepsKey');
    story.objects.delete('web');
    expect(issued(story)[0]).not.toHaveProperty('keepsKey');
  });
});
