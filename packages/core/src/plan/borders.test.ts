import { day, duration, hour, type Instant, instant, minute } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { anchor, Story } from '../../test/story.ts';
import type { ConsumerSeen, ObjectSeen } from './observed.ts';

const SETTLE = duration(180_000);
const LAG = duration(10_000);
const BOUND = 2 * SETTLE + LAG;

/** An authority with one web server of its own; `far` is a leaf, `wide` a bundle of another namespace. */
class Neighbours extends Story {
  constructor() {
    super();
    this.leaf('web').leaf('far');
    this.set({
      leaves: this.policy.leaves.map((leaf) => (leaf.object === 'far' ? { ...leaf, elsewhere: true } : leaf)),
      bundles: [...this.policy.bundles, { object: 'wide', extra: [], elsewhere: true }],
    });
    this.consumer('web', { presents: ['web'], verifies: ['web'] });
    this.run();
    this.acknowledgeAll().pass(day);
    this.mark();
  }

  /** What the home says of objects that lie elsewhere. */
  mark(): this {
    for (const id of ['far', 'wide']) this.change(id, { elsewhere: true });
    return this;
  }

  change(id: string, change: Partial<ObjectSeen>): this {
    const object = this.objects.get(id);
    if (object !== undefined) this.objects.set(id, { ...object, ...change });
    return this;
  }

  /** Its owner writes it again, so that nothing in it is older than now. */
  rewrite(id: string, now: Instant): this {
    const object = this.objects.get(id);
    if (object === undefined) return this;
    return this.change(id, {
      changedAt: now,
      revision: Math.max(0, (object.revision ?? 1) - 1),
      anchors: object.anchors.map((held) => ({ ...held, since: now })),
      leaf: object.leaf && { ...object.leaf, writtenAt: now, issuerSince: now, spec: `v${now}` },
    });
  }

  steps(): string[] {
    return this.run()
      .map(({ kind }) => kind)
      .filter((kind) => !kind.startsWith('write-') && kind !== 'record-issuance');
  }
}

const far = (change: Partial<ConsumerSeen> = {}): Partial<ConsumerSeen> => ({
  presents: ['far'],
  verifies: ['wide'],
  blocks: false,
  namespace: 'evil',
  ...change,
});

test('an object of another namespace never blocks a step because it cannot be written', () => {
  const story = new Neighbours();
  story.change('wide', { obstacle: 'it is not ours' }).change('far', { obstacle: 'it is immutable' });
  story.rotate = ['r'];
  story.run();
  story.mark().acknowledgeAll();
  expect(story.steps()).toEqual(['activate']);
});

test('an object of another namespace delays gate 1 no longer than reloadWithin and a cache, and gate 2 not at all, though its owner rewrites it all the time', () => {
  const story = new Neighbours();
  story.consumer('tenant', far({ reload: 'restart', workload: undefined }));
  story.rotate = ['r'];
  for (let begun = story.now; story.plan().phase !== 'Activating'; ) {
    story.rewrite('wide', story.now).rewrite('far', story.now);
    for (const action of story.plan().actions) story.act(action);
    story.mark().acknowledge('web').pass(1_000);
    expect(story.now - begun).toBeLessThanOrEqual(SETTLE + LAG + 2_000);
  }
  const activated = story.now;
  while (story.plan().phase === 'Activating') {
    story.rewrite('wide', story.now).rewrite('far', story.now);
    for (const action of story.plan().actions) story.act(action);
    story.mark().acknowledge('web').pass(1_000);
    expect(story.now - activated).toBeLessThanOrEqual(LAG + 5_000);
  }
  story.mark().run();
  expect(story.plan().phase).toBe('Stable');
  expect(story.roles()).toBe('2:current 1:retained');
});

test('an object of another namespace is waited for as long as reloadWithin while it can be written, so that an honest neighbour keeps up', () => {
  const story = new Neighbours();
  story.consumer('tenant', far());
  story.rotate = ['r'];
  story.run();
  story
    .mark()
    .acknowledge('web')
    .pass(SETTLE - 1);
  expect(story.plan().blockedBy.map(({ consumer }) => consumer)).toEqual(['tenant']);
  story.pass(1);
  expect(story.steps()).toEqual(['activate']);
});

test('an object of another namespace does not keep an authority in Retiring when it cannot be written', () => {
  const story = new Neighbours();
  story.change('wide', { obstacle: 'it is not ours', revision: 0 });
  expect(story.plan()).toMatchObject({ phase: 'Stable', actions: [], blockedBy: [] });
});

test('a probe in another namespace that claims a chain without its cross-certificate does not make gate 1 strict', () => {
  const story = new Neighbours();
  story.consumer('tenant', far({})).shows('tenant', 'strips').consumer('old', { reload: 'unknown' });
  story.rotate = ['r'];
  story.run();
  story.mark().acknowledge('web').pass(SETTLE);
  expect(story.steps()).toEqual(['activate']);
});

test('a consumer of another namespace does not speak for an object of the authority’s own namespace', () => {
  const story = new Neighbours();
  story.consumers = [];
  story.consumer('liar', far({ presents: ['web'], verifies: ['web'] }));
  story.rotate = ['r'];
  story.run();
  story.mark().acknowledge('liar', { anchors: ['ca1', 'ca2'], issuer: 'ca2' });
  story.pass(SETTLE).run();
  story
    .mark()
    .acknowledge('liar', { anchors: ['ca1', 'ca2'], issuer: 'ca2' })
    .pass(BOUND);
  expect(story.roles()).toBe('2:current 1:previous');
  expect(story.plan().blockedBy.map(({ consumer }) => consumer)).toContain('web');
});

test('a workload of another namespace takes up no place in a wave of the authority’s own rollouts', () => {
  const story = new Neighbours().set({ maxConcurrentRollouts: 1 });
  const rolling = { stamp: { trust: 1, distrusts: 0 }, rolling: true };
  story.consumer('tenant', far({ reload: 'restart', workload: rolling }));
  story.consumer('other', far({ reload: 'restart', namespace: 'third' }));
  story.consumer('old', { reload: 'restart', presents: ['web'] });
  story.rotate = ['r'];
  story.run();
  story.mark().acknowledge('web').pass(SETTLE).run();
  story.mark().acknowledge('web').pass(LAG);
  const { actions } = story.plan();
  expect(actions.map((action) => (action.kind === 'stamp' ? action.consumer : action.kind)).sort()).toEqual([
    'old',
    'other',
  ]);
});

test('another namespace holds no distrust up, whatever it holds or says', () => {
  const story = new Neighbours();
  story.consumer('tenant', far({ reload: 'unknown' }));
  story.change('wide', { obstacle: 'it is not ours' });
  story.distrust = [1];
  story.run();
  for (let passed = 0; passed < SETTLE; passed += minute) {
    story.pass(minute).acknowledge('web').rewrite('far', story.now).mark();
    for (const action of story.plan().actions) story.act(action);
  }
  story.mark().acknowledge('web').run();
  expect(story.roles()).toBe('2:current');
});

test('an object from a newer authority stops everything when this authority asks for it in its own namespace', () => {
  const story = new Neighbours().change('trust', { revision: 40 });
  story.rotate = ['r'];
  expect(story.plan().actions).toEqual([]);
  expect(story.plan().blockedBy).toMatchObject([{ consumer: 'trust' }]);
});

test('an object from a newer authority stops nothing when it lies elsewhere, or when nothing asks for it', () => {
  const story = new Neighbours().change('wide', { revision: 40 });
  const orphan = story.objects.get('web');
  if (orphan !== undefined) story.objects.set('gone', { ...orphan, id: 'gone', revision: 40 });
  expect(story.run().map(({ kind }) => kind)).toEqual(['write-bundle']);
  expect(story.objects.get('wide')?.revision).toBe(story.authority?.revision);
  story.rotate = ['r'];
  expect(story.plan().actions).toMatchObject([{ kind: 'mint' }]);
});

test('an object from a newer authority does not repeat a distrust that was done before the state was restored', () => {
  const story = new Neighbours();
  const backup = story.authority;
  story.distrust = [1];
  story.run();
  const inUse = story.held('trust');
  expect(story.roles()).toContain('2:current');
  story.authority = backup;
  expect(story.plan()).toMatchObject({
    actions: [],
    blockedBy: [
      { consumer: 'web', waitsFor: expect.stringContaining('made from a newer state') },
      { consumer: 'trust', waitsFor: expect.stringContaining('made from a newer state') },
    ],
  });
  expect(story.held('trust')).toBe(inUse);
  // A leaf of the distrusted CA is in use again: then it is due.
  const leaf = story.objects.get('web')?.leaf;
  const issuer = backup?.generations[0]?.anchors[0].fingerprint ?? '';
  story.change('web', { leaf: leaf && { ...leaf, issuer } });
  expect(story.plan().actions).toMatchObject([{ kind: 'distrust' }]);
});

test('an object from a newer authority does not stop a distrust, which takes a revision and numbers above all that is out there', () => {
  const story = new Neighbours().change('trust', { revision: 40 }).change('web', { revision: 41 });
  const stamp = { trust: 7, distrusts: 3 };
  story.consumer('old', { reload: 'restart', workload: { stamp, rolling: false } });
  story.distrust = [1];
  expect(story.plan().actions).toMatchObject([
    { kind: 'distrust', revision: 42, replacement: { generation: 8, minted: true } },
  ]);
  story.run();
  expect(story.authority).toMatchObject({ lastGeneration: 8, distrusts: 4 });
  expect(story.held('trust')).toBe('ca8');
});

test('a leaf that is not valid yet, because the clock was ahead, is issued again', () => {
  const story = new Story().leaf('web');
  story.run();
  story.now = instant(story.now + 61 * day);
  story.run();
  story.pass(-2 * day);
  expect(story.plan().actions).toMatchObject([
    { kind: 'write-leaf', object: 'web', why: 'it is not valid yet' },
  ]);
  story.run();
  expect(story.objects.get('web')?.leaf?.notBefore).toBeLessThanOrEqual(story.now);
});

test('a leaf that lasts longer than asked for, because the clock was ahead, is issued again', () => {
  const story = new Story().leaf('web');
  story.run();
  const object = story.objects.get('web');
  if (object?.leaf === undefined) throw new TypeError('no leaf');
  const leaf = { ...object.leaf, notAfter: instant(object.leaf.notAfter + day) };
  story.objects.set('web', { ...object, leaf });
  expect(story.plan().actions).toMatchObject([
    { kind: 'write-leaf', why: 'it lasts longer than its spec says' },
  ]);
});

test('a next CA generation that is not valid yet, because the clock was ahead, is replaced by another', () => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web'] });
  story.run();
  story.acknowledgeAll().pass(day);
  story.rotate = ['r'];
  story.pass(2 * day).run();
  story.pass(-2 * day);
  expect(story.plan().actions).toMatchObject([{ kind: 'mint', generation: 3, as: 'next', id: undefined }]);
  story.run();
  expect(story.roles()).toBe('3:next 1:current');
  expect(story.authority?.ids).toEqual(['r']);
  expect(story.held('trust')).toBe('ca3 ca1');
});

test('a CA that signs and is not valid yet, because the clock was ahead, is replaced at once, and the last good one vouches for the new one', () => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web'] });
  story.run();
  story.acknowledgeAll().pass(day);
  story.rotate = ['r'];
  story.pass(2 * day).run();
  story.acknowledgeAll().run();
  expect(story.roles()).toBe('2:current 1:previous');
  story.pass(-2 * day);
  expect(story.plan().notes).toMatchObject([
    { code: 'NotYetValid', object: 'CA generation 2' },
    { code: 'CannotIssue', object: 'web' },
  ]);
  const swaps = story.run().filter(({ kind }) => kind === 'mint' || kind === 'activate');
  expect(swaps).toMatchObject([
    { kind: 'mint', generation: 3 },
    { kind: 'activate', generation: 3, crossBy: 1 },
  ]);
  expect(story.objects.get('web')?.leaf).toMatchObject({ issuer: 'ca3' });
  story.steadySince = story.now;
  for (let step = 0; step < 4; step++) {
    story.acknowledgeAll().pass(5 * minute);
    story.run();
  }
  expect(story.roles()).toBe('3:current');
});

describe('while the clock is doubted', () => {
  const leapt = (): Story => {
    const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web'] });
    story.run();
    story.acknowledgeAll().pass(day);
    const before = story.now;
    story.pass(5 * 365 * day);
    story.steadySince = story.now;
    story.doubt = { since: story.now, before, until: instant(story.now + 10 * minute) };
    return story;
  };

  test('while the clock is doubted, nothing is minted, and the clock is named with what to do', () => {
    const story = leapt();
    story.rotate = ['r'];
    const { actions, blockedBy, wakeAt } = story.plan();
    expect(actions.filter(({ kind }) => kind === 'mint')).toEqual([]);
    expect(blockedBy).toMatchObject([{ consumer: 'the clock', since: story.now }]);
    expect(blockedBy[0]?.waitsFor).toMatch(/jumped ahead by 1825 days.*handover clock --confirm/);
    expect(wakeAt).toBe(story.now + 10 * minute);
  });

  test('while the clock is doubted, no CA leaves a bundle because it has ended by that clock', () => {
    const story = leapt();
    story.policy = { ...story.policy, bundles: [{ object: 'trust', extra: [anchor('root', story.now)] }] };
    story.run();
    expect(story.held('trust')).toBe('ca1 root');
  });

  test('while the clock is doubted, a leaf is renewed so that it is valid by either clock', () => {
    const story = new Story().leaf('web');
    story.run();
    const before = instant(story.now + day);
    story.pass(900 * day);
    story.doubt = { since: story.now, before, until: instant(story.now + 10 * minute) };
    story.run();
    const leaf = story.objects.get('web')?.leaf;
    expect(leaf?.notBefore).toBe(before - hour);
    expect(leaf?.notAfter).toBe(story.now + 90 * day);
    expect(story.plan().actions).toEqual([]);
  });

  test('while the clock is doubted, a first CA generation is not made', () => {
    const story = new Story();
    story.doubt = { since: story.now, before: instant(story.now - day), until: story.now };
    expect(story.plan().actions).toEqual([]);
    expect(story.plan().blockedBy).toMatchObject([{ consumer: 'the clock' }]);
  });

  test('while the clock is doubted, a distrust goes on: a person asked for it', () => {
    const story = leapt();
    story.distrust = [1];
    expect(story.plan().actions).toMatchObject([{ kind: 'distrust' }]);
  });
});
