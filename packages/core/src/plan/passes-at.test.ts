import { day, duration, minute, second } from '@handover/material';
import { expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import { passesAt } from './passes-at.ts';
import { plan } from './plan.ts';

/** Nothing shows what it has loaded. */
const READS = {
  presents: ['web'],
  verifies: ['web', 'trust'],
  instances: [],
  reload: 'unknown',
  workload: undefined,
} as const;

const rotating = (declare: (story: Story) => Story): Story => {
  const story = declare(new Story().leaf('web'));
  story.set({ reloadWithin: duration(3 * minute), consumersFound: false, cacheLag: duration(0) });
  story.run();
  story.acknowledgeAll().pass(day).run();
  story.rotate = ['r'];
  story.run();
  return story;
};
const due = (story: Story): number | undefined => {
  const at = passesAt(story.seen, story.policy, plan(story.seen, story.policy, story.now), story.now);
  return at === undefined ? undefined : at - story.now;
};

test('a wait that reloadWithin ends has a date, which draws nearer', () => {
  const story = rotating((one) => one.consumer('web', READS));
  expect(story.plan().phase).toBe('Introducing');
  expect(due(story)).toBe(3 * minute);
  story.pass(minute);
  expect(due(story)).toBe(2 * minute);
  story.pass(2 * minute);
  expect(due(story)).toBeUndefined();
  story.run();
  expect(story.plan().phase).toBe('Activating');
});

test('a wait that only evidence ends has no date, whatever else the planner wakes for', () => {
  const story = rotating((one) =>
    one.consumer('web', {
      presents: ['web'],
      verifies: ['web', 'trust'],
      instances: [
        {
          uid: 'web',
          createdAt: undefined,
          ready: true,
          stamp: undefined,
          proofs: [],
          unread: { trust: 'connection refused', leaf: 'connection refused' },
        },
      ],
    }),
  );
  const made = plan(story.seen, story.policy, story.now);
  expect(made.blockedBy.length).toBeGreaterThan(0);
  expect(made.wakeAt).toBeDefined();
  expect(due(story)).toBeUndefined();
});

test('objects that were written one after another are all waited for', () => {
  const story = rotating((one) => one.consumer('web', READS));
  const trust = story.objects.get('trust');
  if (trust === undefined) throw new TypeError('no bundle');
  story.pass(30 * second);
  story.objects.set('trust', {
    ...trust,
    anchors: trust.anchors.map((anchor) => ({ ...anchor, since: story.now })),
    changedAt: story.now,
  });
  const found = due(story) ?? 0;
  expect(found).toBeGreaterThanOrEqual(3 * minute);
  expect(found).toBeLessThanOrEqual(3.3 * minute);
});
