import { day } from '@handover/material';
import { expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import type { ConsumerSeen, Proof, ShownLeaf } from './observed.ts';

/** `web` is expected to present the leaf of `web`; `api` is another Leaf of the same authority. */
const rotating = (expects: ConsumerSeen['expects']): Story => {
  const story = new Story()
    .leaf('web')
    .leaf('api')
    .consumer('web', {
      presents: expects !== undefined && expects.object === undefined ? [] : ['web'],
      verifies: ['trust', 'web', 'api'],
      ownersWord: true,
      ...(expects === undefined ? {} : { expects }),
    })
    .consumer('api', { presents: ['api'], verifies: ['api'], ownersWord: true });
  story.run();
  story.pass(day);
  story.rotate = ['r'];
  story.run();
  return story;
};

/** The program at the declared address has loaded everything that there is, and serves these leaves. */
const shows = (story: Story, consumer: string, by: Proof['by'], leaves: readonly ShownLeaf[]): Story => {
  const generations = story.authority?.generations ?? [];
  const anchors = generations.flatMap((one) => one.anchors.map(({ fingerprint }) => fingerprint));
  const issuer = generations.find(({ role }) => role === 'current')?.anchors[0].fingerprint ?? '';
  const proofs: Proof[] = [{ by, at: story.now, anchors, complete: true, issuer, leaves }];
  story.consumers = story.consumers.map((one) =>
    one.id === consumer
      ? { ...one, instances: one.instances.map((instance) => ({ ...instance, proofs })) }
      : one,
  );
  return story;
};
const current = (story: Story, object: string): ShownLeaf => ({
  fingerprint: story.objects.get(object)?.leaf?.fingerprint ?? '',
});
/** Steps of a rotation, each with the evidence that the programs then show. */
const go = (story: Story, web: (story: Story) => readonly ShownLeaf[]): Story => {
  for (let step = 0; step < 6; step++) {
    shows(story, 'web', 'probed', web(story));
    shows(story, 'api', 'acknowledged', [current(story, 'api')]);
    story.pass(day / 24).run();
  }
  return story;
};
const waits = (story: Story): readonly string[] =>
  story.plan().blockedBy.map(({ consumer, waitsFor }) => `${consumer}: ${waitsFor}`);

const WEB = { leaf: 'default/web', object: 'web' };

test('evidence about another leaf is no evidence: trust and leaf both wait, and both leaves are named', () => {
  const story = go(rotating(WEB), (world) => [current(world, 'api')]);
  expect(story.plan().phase).toBe('Introducing');
  expect(new Set(waits(story))).toEqual(
    new Set([
      'web: to load CA generation 2 (shows the certificate of Leaf api, expected default/web; correct the address in its status or probe, or its leaf)',
    ]),
  );
  // Once its own program is asked, nothing else waits.
  go(story, (world) => [current(world, 'web')]);
  expect(story.roles()).toBe('2:current');
});

test('a certificate with the names of another Leaf is no evidence, though no object holds it any more', () => {
  const story = go(rotating(WEB), () => [{ fingerprint: 'renewed since', object: 'api' }]);
  expect(story.plan().phase).toBe('Introducing');
});

test('an earlier leaf of the consumer’s own counts, and so does a program with several leaves', () => {
  expect(go(rotating(WEB), () => [{ fingerprint: 'earlier' }]).roles()).toBe('2:current');
  const both = go(rotating(WEB), (world) => [current(world, 'api'), current(world, 'web')]);
  expect(both.roles()).toBe('2:current');
});

test('a consumer that names no Leaf may show any leaf', () => {
  expect(go(rotating(undefined), (world) => [current(world, 'api')]).roles()).toBe('2:current');
});

test('a consumer that names a Leaf which does not exist holds up the rotation, and is told what to do', () => {
  const story = go(rotating({ leaf: 'default/wbe', object: undefined }), (world) => [current(world, 'web')]);
  expect(story.plan().phase).toBe('Activating');
  expect(waits(story)).toContain(
    'web: to present a leaf of this Authority: its spec.consumers[].leaf names default/wbe, which is no Leaf of this Authority; correct the name, or declare that Leaf',
  );
});
