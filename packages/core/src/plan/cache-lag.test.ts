import { day, duration, instant, second } from '@handover/material';
import { expect, test } from 'vitest';
import { Story, waits } from '../../test/story.ts';

const LAG = 380 * second;

/** The bundle is one that kubelets hand out stale for longer, and it has just got CA generation 2. */
const introducing = (change: Parameters<Story['consumer']>[1] = {}, chain?: 'strips'): Story => {
  const story = new Story().consumer('v', change);
  if (chain !== undefined) story.shows('v', chain);
  story.run();
  story.pass(day);
  story.rotate = ['r'];
  story.run();
  const trust = story.objects.get('trust');
  if (trust !== undefined) story.objects.set('trust', { ...trust, cacheLag: duration(LAG) });
  return story;
};

const startedAt = (story: Story, createdAt: number): Story => {
  story.consumers = story.consumers.map((consumer) => ({
    ...consumer,
    instances: consumer.instances.map((one) => ({ ...one, createdAt: instant(createdAt) })),
  }));
  return story;
};

test('a pod that starts while a kubelet may hand out the old bundle has not loaded the new one', () => {
  const story = introducing({ reload: 'unknown' });
  const write = story.now;
  story.pass(LAG);
  expect(waits(startedAt(story, write + 60 * second))).toEqual(['v: to load CA generation 2']);
  expect(waits(startedAt(story, write + LAG - second))).toEqual(['v: to load CA generation 2']);
  story.pass(2 * second);
  expect(startedAt(story, write + LAG + second).plan().actions).toMatchObject([{ kind: 'activate' }]);
});

test('a silent consumer has reloadWithin from when a kubelet can have handed out the file last', () => {
  const story = introducing();
  expect(waits(story.pass(180 * second))).toEqual(['v: to load CA generation 2']);
  expect(waits(story.pass(LAG - second))).toEqual(['v: to load CA generation 2']);
  expect(story.pass(second).plan().actions).toMatchObject([{ kind: 'activate' }]);
});

test('a restart-only workload is rolled once no kubelet hands out the old bundle, not before', () => {
  const story = introducing({ reload: 'restart' }, 'strips');
  expect(story.pass(60 * second).plan().actions).toEqual([]);
  expect(waits(story)).toEqual([
    'v: to restart with CA generation 2',
    'kubelet caches: waiting up to 380 s: a kubelet may still hand out files from before CA generation 2',
    expect.stringMatching(/^readers of trust: to be loaded: programs that read it unseen have reloadWithin/),
  ]);
  story.pass(LAG - 60 * second);
  expect(story.plan().actions).toMatchObject([{ kind: 'stamp', stamp: { trust: 2 } }]);
});
