import { day } from '@handover/material';
import { expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import type { Proof } from './observed.ts';

const rotating = (): Story => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web', 'trust'] });
  story.run();
  story.acknowledgeAll().pass(day).run();
  story.rotate = ['r'];
  story.run();
  return story;
};

/** Its port shows this, beside what its status document says. */
const probed = (story: Story, shows: Pick<Proof, 'anchors' | 'refuses' | 'issuer'>): Story => {
  story.consumers = story.consumers.map((consumer) => ({
    ...consumer,
    instances: consumer.instances.map((instance) => ({
      ...instance,
      proofs: [...instance.proofs, { by: 'probed', at: story.now, ...shows }],
    })),
  }));
  return story;
};
const anchorOf = (story: Story, role: string): string =>
  story.authority?.generations.find((one) => one.role === role)?.anchors[0].fingerprint ?? '';
const waits = (story: Story): readonly string[] => story.plan().blockedBy.map(({ waitsFor }) => waitsFor);

test('a server that refuses a canary of the new CA holds up its rotation, whatever its document says', () => {
  const story = rotating().acknowledgeAll();
  const [next, current] = [anchorOf(story, 'next'), anchorOf(story, 'current')];
  probed(story, { anchors: [current], refuses: [next] })
    .pass(day)
    .run();
  expect(story.plan().phase).toBe('Introducing');
  expect(waits(story)[0]).toContain('its status document and its handshake disagree');
  story.acknowledgeAll();
  probed(story, { anchors: [next, current], refuses: [] }).run();
  expect(story.plan().phase).toBe('Activating');
});

test('a server whose port serves the old leaf holds up its rotation, whatever its document says', () => {
  const story = rotating().acknowledgeAll();
  const old = anchorOf(story, 'current');
  story.run();
  expect(story.plan().phase).toBe('Activating');
  story.acknowledgeAll();
  probed(story, { issuer: old }).pass(day).run();
  expect(story.plan().phase).toBe('Activating');
  expect(waits(story)[0]).toContain('its status document and its handshake disagree');
  story.acknowledgeAll().run();
  expect(story.plan().phase).not.toBe('Activating');
});
