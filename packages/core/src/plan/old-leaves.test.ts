import { day, duration, hour, instant, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { Story, T0, waits } from '../../test/story.ts';
import type { ConsumerSeen, ObjectSeen, Proof } from './observed.ts';

/** A web server with a leaf for 90 days, from a Deployment that has been there for long. */
class Web extends Story {
  readonly first: { readonly fingerprint: string; readonly notAfter: number };

  constructor(web: Partial<ConsumerSeen> = {}) {
    super();
    this.leaf('web');
    this.consumer('web', {
      presents: ['web'],
      verifies: ['web', 'trust'],
      createdAt: instant(T0 - day),
      ...web,
    });
    this.run();
    this.acknowledge('web').pass(day);
    this.first = this.objects.get('web')?.leaf ?? { fingerprint: '', notAfter: 0 };
  }

  shortened(): this {
    return this.set({
      leaves: this.policy.leaves.map((leaf) => ({ ...leaf, lifetime: duration(day), spec: 'short' })),
    });
  }

  /** The new CA signs. */
  activated(): this {
    this.rotate.push('r');
    this.run();
    this.acknowledgeAll().pass(minute);
    this.run();
    return this;
  }

  /** It has loaded every CA, and still shows a leaf of the first. */
  showsOld(leaves?: Proof['leaves']): this {
    return this.acknowledge('web', {
      anchors: ['ca2', 'ca1'],
      issuer: 'ca1',
      ...(leaves === undefined ? {} : { leaves }),
    });
  }

  without(...ids: readonly string[]): this {
    this.consumers = this.consumers.filter(({ id }) => !ids.includes(id));
    return this;
  }
}

const PREVIOUS = '2:current 1:previous';

test('a leaf that a shorter one of the same CA replaced counts until its own end', () => {
  const story = new Web().without('web').shortened();
  story.run();
  expect(story.objects.get('web')?.leaf?.othersExpire).toBe(story.first.notAfter);
  story.activated().pass(day + 2 * hour);
  story.run();
  story.pass(minute).run();
  expect(story.roles()).toBe(PREVIOUS);
  story.now = instant(story.first.notAfter + hour);
  story.run();
  story.pass(minute).run();
  expect(story.roles()).toBe('2:current');
});

test('the old CA stays trusted for programs that nobody sees until the longest leaf has ended, whatever lifetime the last one had', () => {
  const story = new Web().shortened();
  story.set({ leaves: story.policy.leaves.map((leaf) => ({ ...leaf, usedByOthers: true as const })) });
  story.run();
  story.activated().acknowledgeAll().pass(minute).run();
  expect(story.authority?.generations[1]).toMatchObject({
    role: 'retained',
    unseenUntil: story.first.notAfter,
  });
});

test('in another namespace, too, a leaf that a shorter one of the same CA replaced counts', () => {
  const story = new Web().leaf('pay/api');
  story.set({
    leaves: story.policy.leaves.map((leaf) => (leaf.object === 'web' ? leaf : { ...leaf, elsewhere: true })),
  });
  story.run();
  const end = story.objects.get('pay/api')?.leaf?.notAfter ?? 0;
  story.shortened().run();
  // A state from before leaves elsewhere were remembered.
  if (story.authority !== undefined)
    story.authority = {
      ...story.authority,
      generations: story.authority.generations.map(({ elsewhere: _, ...one }) => one),
    };
  story.activated().acknowledgeAll().pass(minute).run();
  expect(story.authority?.generations[1]?.elsewhere?.until).toBeGreaterThanOrEqual(end);
});

test('no date that is computed answers a pod that shows an old leaf, unless that very leaf has ended', () => {
  const story = new Web().activated();
  // A record from a version that forgot longer leaves.
  const web = story.objects.get('web');
  if (web?.leaf !== undefined)
    story.objects.set('web', { ...web, leaf: { ...web.leaf, othersExpire: instant(story.now + day) } });
  story.showsOld().pass(2 * day);
  story.run();
  expect(waits(story)).toEqual(['web: to load a leaf of CA generation 2']);
  story.showsOld([{ fingerprint: 'l1', notAfter: instant(story.now + day) }]);
  expect(waits(story)).toEqual(['web: to load a leaf of CA generation 2']);
  story.showsOld([
    { fingerprint: 'l1', notAfter: instant(story.now - hour) },
    { fingerprint: 'of which nothing is known' },
  ]);
  expect(waits(story)).toEqual(['web: to load a leaf of CA generation 2']);
  // Beside the newest leaf of this Authority, which it shows as well.
  const fingerprint = story.objects.get('web')?.leaf?.fingerprint ?? '';
  story.showsOld([{ fingerprint: 'l1', notAfter: instant(story.now - hour) }, { fingerprint }]);
  expect(waits(story)).toEqual([]);
});

test('an old leaf of which no end is known counts until its CA has ended', () => {
  const story = new Web().activated().showsOld();
  story.now = instant((story.authority?.generations[1]?.anchors[0].notAfter ?? 0) + hour);
  story.objects.delete('other');
  story.run();
  story.showsOld().pass(minute);
  expect(waits(story)).not.toContain('web: to load a leaf of CA generation 2');
});

test('a Leaf and its Secret that are created again in mid-rotation do not outweigh a pod that shows the old leaf', () => {
  const story = new Web().activated().showsOld().pass(minute);
  story.objects.delete('web');
  story.set({ leaves: story.policy.leaves.map((leaf) => ({ ...leaf, createdAt: story.now })) });
  story.run();
  story.pass(minute).showsOld().run();
  expect(story.roles()).toBe(PREVIOUS);
});

test('nor do they outweigh a pod from before, which shows nothing', () => {
  const silent = { proofs: [], uid: 'old', createdAt: instant(T0 - day), ready: true, stamp: undefined };
  const story = new Web({ reload: 'restart', workload: undefined, instances: [silent] }).without('web');
  story.activated().consumer('web', {
    presents: ['web'],
    verifies: [],
    reload: 'restart',
    workload: undefined,
    createdAt: instant(T0 - day),
    instances: [silent],
  });
  story.objects.delete('web');
  story.set({ leaves: story.policy.leaves.map((leaf) => ({ ...leaf, createdAt: story.now })) });
  story.run();
  story.pass(minute).run();
  expect(story.roles()).toBe(PREVIOUS);
});

test('a Certificate and its Secret that are created again in mid-rotation do not outweigh a pod that shows the old leaf', () => {
  const lent = (ca: string, at: number, since: number): ObjectSeen => ({
    id: 'cm',
    version: '1',
    revision: undefined,
    changedAt: instant(at),
    anchors: [{ fingerprint: 'ca1', since: T0 }],
    leaf: {
      fingerprint: `cm-${ca}`,
      issuer: ca,
      chain: [],
      notBefore: instant(at),
      notAfter: instant(at + 80 * day),
      spec: 'lent',
      writtenAt: instant(at),
      issuerSince: instant(at),
      replacedOne: false,
      othersExpire: undefined,
    },
    writtenBy: { program: 'cert-manager', asked: 'never', since: instant(since) },
  });
  const story = new Web();
  story.objects.set('cm', lent('ca1', story.now, T0 - day));
  story.consumer('db', { presents: ['cm'], verifies: [], createdAt: instant(T0 - day) }).acknowledge('db');
  story.activated().acknowledgeAll().acknowledge('db', { anchors: [], issuer: 'ca1' }).pass(minute);
  story.objects.set('cm', lent('ca2', story.now, story.now));
  story.pass(minute).run();
  expect(waits(story)).toEqual(['db: to load a leaf of CA generation 2']);
});

test('a Secret that is deleted in mid-rotation may have held a longer leaf than its Leaf asks for now', () => {
  const story = new Web().without('web').activated().shortened();
  story.objects.delete('web');
  story.run();
  story.pass(day + 2 * hour).run();
  story.pass(minute).run();
  expect(story.roles()).toBe(PREVIOUS);
  expect(story.objects.get('web')?.leaf?.othersExpire).toBe(
    story.authority?.generations[1]?.anchors[0].notAfter,
  );
});

/** A pod with the stamp of generation 2 that mounts a Secret nobody writes any more. */
test('a stamp speaks for an object that has what the stamp stands for, and for no other', () => {
  const story = new Web().leaf('old');
  story.run();
  story.pass(day).set({ leaves: story.policy.leaves.filter(({ object }) => object === 'web') });
  story.consumers = [];
  story.rotate.push('r');
  story.run();
  const stamp = { trust: 2, distrusts: 0, issuer: 2, leaf: 'web', ca: 'ca2' };
  const instances = [{ uid: 'n', createdAt: story.now, ready: true, stamp, proofs: [] }];
  const more = {
    reload: 'restart' as const,
    createdAt: instant(T0 - day),
    instances,
    workload: { stamp, rolling: false },
  };
  story.consumer('presenter', { presents: ['old'], verifies: [], ...more });
  story.consumer('verifier', { presents: [], verifies: ['old'], ...more });
  story.pass(minute).run();
  expect(waits(story)).toEqual([
    'presenter: to restart with a leaf of CA generation 2',
    expect.stringMatching(/^web: to be known as unused: no pod mounts this Secret/),
    'verifier: to restart with CA generation 2',
  ]);
});
