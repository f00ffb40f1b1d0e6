import { day, duration, hour, instant, minute, second } from '@handover/material';
import { expect, test } from 'vitest';
import { Story, T0, waits } from '../../test/story.ts';
import type { ConsumerSeen } from './observed.ts';

/** A web server that a Deployment has kept for long, and a Secret whose reader takes it through the API: no pod shows that reader. */
class Cluster extends Story {
  constructor(web: Partial<ConsumerSeen> = {}) {
    super();
    this.leaf('web');
    this.consumer('web', { presents: ['web'], verifies: ['web', 'trust'], createdAt: T0, ...web });
    this.run();
    this.acknowledge('web').pass(day);
  }

  /** The old CA no longer signs, and every known workload shows its new leaf. */
  activated(): this {
    this.rotate.push('r');
    this.run();
    this.acknowledgeAll().pass(minute);
    this.run();
    return this.acknowledgeAll().pass(minute);
  }

  /** A workload comes that has the new leaf from its first moment. */
  deployed(id: string, change: Partial<ConsumerSeen> = {}): this {
    this.consumer(id, { presents: ['web'], verifies: ['web'], createdAt: this.now, ...change });
    return this.acknowledge(id).pass(minute);
  }

  annotated(): this {
    return this.set({ leaves: this.policy.leaves.map((leaf) => ({ ...leaf, usedByOthers: true as const })) });
  }

  gone(id: string): this {
    this.consumers = this.consumers.filter((consumer) => consumer.id !== id);
    return this;
  }
}

const LATE =
  'to be known as unused: smoke-test was created after CA generation 1 had stopped signing, and does not speak for programs that read this Secret before, so its old leaf counts as in use until it expires; annotate its Leaf with handover.dev/reload: hot if other programs load it, handover.dev/used-by: nobody if only pods read it, or handover.dev/used-by: others to go on, with the old CA trusted until then';

test('a workload that was there before the old CA stopped signing speaks for every reader of the Secret it mounts, which is an assumption', () => {
  const story = new Cluster().activated();
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('a smoke test that mounts a Secret opens no gate that was shut because no pod was known to read the old leaf', () => {
  const story = new Cluster().gone('web').activated();
  expect(waits(story)[0]).toMatch(/^web: to be known as unused: no pod mounts this Secret, so its old leaf/);
  story.deployed('smoke-test');
  expect(waits(story)).toEqual([`web: ${LATE}`]);
  story.pass(50 * day);
  expect(waits(story)).toEqual([`web: ${LATE}`]);
  // The old leaf was issued for 90 days, and clocks may be an hour behind.
  story.pass(40 * day + hour).run();
  story.acknowledgeAll().pass(minute).run();
  expect(story.roles()).toBe('2:current');
});

test('a workload that was deleted and created again after the old CA had stopped signing does not speak for its predecessor, and the wait says what frees it', () => {
  const story = new Cluster().activated().gone('web').deployed('smoke-test');
  expect(waits(story)).toEqual([`web: ${LATE}`]);
  story.annotated().run();
  expect(story.roles()).toBe('2:current 1:retained');
});

test('a workload that was created again before the old CA stopped signing speaks for the Secret', () => {
  const story = new Cluster().gone('web').deployed('again').activated();
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('a workload speaks for a Secret only from a second before the old CA stopped signing: the API server dates in whole seconds', () => {
  for (const [age, roles] of [
    [second, '2:current'],
    [second - 1, '2:current 1:previous'],
  ] as const) {
    const story = new Cluster().activated();
    const stopped = story.authority?.generations.find(({ role }) => role === 'previous')?.since ?? T0;
    story.consumers = story.consumers.map((one) => ({ ...one, createdAt: instant(stopped - age) }));
    story.run();
    expect(story.roles()).toBe(roles);
  }
});

test('a Job that mounts a Secret speaks for no other program that reads it, however long it has been there', () => {
  const story = new Cluster({ completes: true }).activated();
  expect(waits(story)[0]).toMatch(
    /^web: to be known as unused: web ends by itself and does not speak for other programs that read this Secret, so/,
  );
});

test('the owner’s word about all readers of a Secret stands beside workloads that came late', () => {
  const story = new Cluster().gone('web');
  // As the operator states handover.dev/used-by: nobody on a Leaf.
  story.consumer('readers of web', { ownersWord: true, presents: ['web'], verifies: [], instances: [] });
  story.activated().deployed('smoke-test').run();
  expect(story.roles()).toBe('2:current');
});

test('a new Leaf that never held a leaf of the old CA waits for no unknown reader', () => {
  const story = new Cluster().activated().leaf('new');
  story.set({
    leaves: story.policy.leaves.map((one) => (one.object === 'new' ? { ...one, createdAt: story.now } : one)),
  });
  story.consumer('late', { presents: ['new'], verifies: ['new'], createdAt: story.now });
  story.run();
  story.acknowledgeAll().pass(minute);
  expect(waits(story)).toEqual([]);
  story.run();
  expect(story.roles()).toBe('2:current');
});

test('a Secret that other programs use too, by its owner’s word, holds no rotation up, and the old CA stays trusted without its key until the old leaf has expired', () => {
  const story = new Cluster().annotated().activated();
  const end = story.objects.get('web')?.leaf?.othersExpire;
  story.run();
  expect(story.authority?.generations[1]).toMatchObject({
    role: 'retained',
    hasKey: false,
    unseenUntil: end,
  });
  expect(story.held('trust')).toBe('ca2 ca1');
  story.pass(80 * day).run();
  expect(story.roles()).toBe('2:current 1:retained');
  story.pass(10 * day + hour).run();
  expect(story.roles()).toBe('2:current');
});

test('a Secret that other programs use needs no known workload', () => {
  const story = new Cluster().gone('web').annotated().activated();
  story.run();
  expect(story.roles()).toBe('2:current 1:retained');
});

test('known workloads of a Secret that other programs use still have to show their new leaf', () => {
  const story = new Cluster().annotated().activated();
  story.acknowledge('web', { issuer: 'ca1' });
  expect(waits(story)).toEqual(['web: to load a leaf of CA generation 2']);
});

test('issueTo.patience is not outlived by a Leaf of another namespace that other programs use', () => {
  const story = new Cluster().leaf('pay/secrets/api').set({ patienceElsewhere: duration(7 * day) });
  story.set({
    leaves: story.policy.leaves.map((leaf) =>
      leaf.object === 'web' ? leaf : { ...leaf, elsewhere: true, usedByOthers: true as const },
    ),
  });
  story.consumer('pay/api', { presents: ['pay/secrets/api'], verifies: [], blocks: false });
  story.activated().run();
  expect(story.roles()).toBe('2:current 1:retained');
  story.acknowledgeAll().pass(minute);
  expect(story.plan().notes.find(({ code }) => code === 'Retained')?.message).toContain(
    'pay/secrets/api (other programs use it too)',
  );
  story.pass(7 * day).run();
  expect(story.roles()).toBe('2:current');
});

test('where consumers are declared, a Secret that only its presenters read has no other readers to wait for', () => {
  const waitsFor = (usedByNobody: boolean, presents: readonly string[]) => {
    const story = new Story().leaf('web').set({ consumersFound: false });
    if (usedByNobody)
      story.set({ leaves: story.policy.leaves.map((leaf) => ({ ...leaf, usedByNobody: true as const })) });
    story.consumer('server', { presents, verifies: ['trust'], ownersWord: false });
    story.run();
    story.acknowledge('server');
    story.rotate = ['monday'];
    story.run();
    return story.plan().blockedBy.map(({ consumer }) => consumer);
  };
  expect(waitsFor(false, ['web'])).toContain('readers of web');
  expect(waitsFor(true, ['web'])).toEqual(['server']);
  // Without a declared presenter there are programs that are not known.
  expect(waitsFor(true, [])).toContain('readers of web');
});
