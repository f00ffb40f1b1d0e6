import { day } from '@handover/material';
import { expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import type { ObjectSeen, ShownLeaf } from './observed.ts';

const COPIES = 1_000;
const PODS = 250;
const copies = Array.from({ length: COPIES }, (_, index) => `evil/copy-${index}`);

/** How often the planner read the leaf of a copy: what it costs, on a machine of any speed. */
const counted = (object: ObjectSeen, onRead: () => void): ObjectSeen => ({
  ...object,
  get leaf() {
    onRead();
    return object.leaf;
  },
});

test('one leaf copied into 1,000 Secrets of another namespace, all mounted by 250 pods, costs the planner a few reads for each mount', () => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'] });
  story.run();
  story.acknowledgeAll().pass(day);
  const leaf = story.objects.get('web')?.leaf;
  const leaves: readonly ShownLeaf[] = [{ fingerprint: leaf?.fingerprint ?? '' }];
  for (let pod = 0; pod < PODS; pod++)
    story
      .consumer(`evil-${pod}`, { presents: copies, verifies: [], blocks: false, namespace: 'evil' })
      .acknowledge(`evil-${pod}`, { issuer: leaf?.issuer ?? '', leaves, anchors: [] });
  let reads = 0;
  const copy = (): void => {
    const { leaf: held } = story.objects.get('web') ?? {};
    for (const id of copies) {
      const writtenBy = { program: 'another program', asked: 'never', namespace: 'evil' } as const;
      const object = { id, version: '1', revision: undefined, anchors: [], changedAt: story.now, leaf: held };
      story.objects.set(
        id,
        counted({ ...object, elsewhere: true, writtenBy }, () => reads++),
      );
    }
  };
  const most = 4 * COPIES * PODS;
  const run = (): void => {
    for (;;) {
      reads = 0;
      const plan = story.plan();
      expect(reads).toBeLessThanOrEqual(most);
      if (plan.actions.length === 0) break;
      for (const action of plan.actions) story.act(action);
    }
  };
  copy();
  story.rotate = ['r'];
  for (let step = 0; step < 3; step++) {
    run();
    story.acknowledge('web').pass(story.policy.reloadWithin * 3);
  }
  expect(story.roles()).toBe('2:current 1:retained');
  // The copies follow, and the pods show a leaf that lies nowhere.
  copy();
  const issuer = story.objects.get('web')?.leaf?.issuer ?? '';
  for (let pod = 0; pod < PODS; pod++)
    story.acknowledge(`evil-${pod}`, { issuer, leaves: [{ fingerprint: 'unknown' }], anchors: [] });
  story.pass(story.policy.cacheLag);
  run();
});
