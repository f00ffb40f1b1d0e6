import { day, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { Story, waits } from '../../test/story.ts';

// Stories in which an assumption of docs/assumptions.md is false and a gate opens all the same: nothing shows it to the planner.

/** A web server with two pods, in the middle of a rotation: the new CA signs. */
const activated = (): Story => {
  const story = new Story().leaf('web');
  const pod = (uid: string) => ({ uid, createdAt: story.now, ready: true, stamp: undefined, proofs: [] });
  story.consumer('web', { presents: ['web'], verifies: ['web', 'trust'], instances: [pod('a'), pod('b')] });
  story.run();
  story.acknowledgeAll().pass(day);
  story.rotate.push('r');
  story.run();
  story.acknowledgeAll().pass(minute);
  story.run();
  story.pass(minute);
  return story;
};

test('a server that sends its leaf alone is not found out before there is a cross-certificate, and the step that relies on it says so', () => {
  const story = new Story().leaf('web').leaf('db');
  story.consumer('web', { presents: ['web'], verifies: ['web'] });
  story.consumer('db', { presents: ['db'], verifies: ['db'], reload: 'restart' });
  story.run();
  story.acknowledgeAll().pass(day);
  story.rotate.push('r');
  story.run();
  story.acknowledge('web').acknowledge('db', { anchors: [], issuer: 'ca1' });
  const why = story.run().flatMap((action) => (action.kind === 'activate' ? [action.why] : []));
  expect(why).toEqual([
    'every verifier accepts CA generation 2; db relies on the cross-certificate, and no probe or status document has shown that web, db send it',
  ]);
  // From now on a probe can see it, and db refuses web until it has restarted.
  story.acknowledge('web').shows('web', 'strips');
  expect(story.plan().notes.map(({ message }) => message)).toContain(
    'db relies on the cross-certificate, and web does not send it, and no probe or status document has shown that db sends it',
  );
});

test('a pod whose object is gone counts as ended, although its containers may still run', () => {
  const story = activated();
  const late = story.consumers;
  story.acknowledgeAll();
  // Pod b still shows the old leaf.
  story.consumers = story.consumers.map((one) => ({
    ...one,
    instances: [...one.instances.slice(0, 1), ...(late[0]?.instances.slice(1) ?? [])],
  }));
  expect(waits(story)).toEqual(['web: to load a leaf of CA generation 2 (missing: b)']);
  story.consumers = story.consumers.map((one) => ({ ...one, instances: one.instances.slice(0, 1) }));
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('a process that shows the new leaf is believed for all its TLS, although a library of its own may keep the old one', () => {
  const story = activated().acknowledgeAll();
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('a Leaf that asks for another key in mid-rotation gets it from the CA that signs, and no gate asks whether its peers know the algorithm', () => {
  for (const isActivated of [false, true]) {
    const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web', 'trust'] });
    story.run();
    story.acknowledgeAll().pass(day);
    story.rotate.push('r');
    story.run();
    if (isActivated) {
      story.acknowledgeAll().pass(minute);
      story.run();
    }
    const signs = isActivated ? 'ca2' : 'ca1';
    story.set({ leaves: story.policy.leaves.map((leaf) => ({ ...leaf, spec: 'another key' })) });
    story.run();
    expect(story.objects.get('web')?.leaf).toMatchObject({ issuer: signs, spec: 'another key' });
    for (let step = 0; step < 3; step++) {
      story.acknowledgeAll().pass(minute);
      story.run();
    }
    expect(story.roles()).toBe('2:current');
  }
});

test('a restart counts where nothing shows the contrary, although a program may start from a copy of its own', () => {
  const story = activated();
  story.consumers = story.consumers.map((one) => ({
    ...one,
    reload: 'restart',
    instances: one.instances.map((pod) => ({
      ...pod,
      uid: `${pod.uid}-new`,
      createdAt: story.now,
      proofs: [],
    })),
  }));
  story.pass(minute).run();
  expect(story.roles()).toBe('2:current');
});
