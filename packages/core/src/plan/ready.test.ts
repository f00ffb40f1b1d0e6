import { day, hour, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import { notReady } from './ready.ts';

const stable = (): Story => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web'] });
  story.run();
  story.acknowledgeAll().pass(day);
  return story;
};

/** Refuses every real certificate: then only records count. */
const reasons = (story: Story, refusal = (): string | undefined => 'unknown CA'): readonly string[] =>
  notReady(story.seen, story.policy, story.now, refusal).map(({ why }) => why);

test('Ready is false before there is a CA generation', () => {
  expect(reasons(new Story())).toEqual(['its first CA generation is being created']);
});

test('Ready is false while it has to be decided which CA to begin with', () => {
  const seen = { ...new Story().seen, orphaned: [{ object: 'web', waitsFor: 'to be decided on' }] };
  expect(notReady(seen, new Story().policy, new Story().now, () => undefined)).toEqual([
    { why: 'it has no CA: what it waits for has to be decided first', yetToBeMade: false },
  ]);
});

test('Ready is false before objects are made for the first time, with nothing wrong', () => {
  const made = ({ seen, policy, now }: Story): readonly boolean[] =>
    notReady(seen, policy, now, () => undefined).map(({ yetToBeMade }) => yetToBeMade);
  expect(made(new Story())).toEqual([true]);
  const story = stable();
  story.objects.delete('web');
  expect(made(story)).toEqual([true, true]);
});

test('Ready is false while the state is older than an object, as after a restore from a backup', () => {
  const story = stable();
  const backup = story.authority;
  story.rotate = ['r'];
  story.acknowledgeAll().pass(hour).run();
  story.authority = backup;
  expect(reasons(story, () => undefined)).toEqual([
    'its state is older than web, trust, as if restored from a backup',
  ]);
});

test('Ready is said at every step of a rotation', () => {
  const story = stable();
  story.rotate = ['r'];
  for (let step = 0; step < 4; step++) {
    expect(reasons(story)).toEqual([]);
    story.acknowledgeAll().pass(hour).run();
  }
  expect(story.roles()).toBe('2:current');
});

test('Ready is false while a leaf is missing, has ended or is not valid yet', () => {
  const story = stable();
  const object = story.objects.get('web');
  story.objects.delete('web');
  expect(reasons(story)).toEqual(['web does not hold the bundle yet', 'web holds no leaf yet']);
  if (object !== undefined) story.objects.set('web', object);
  story.pass(90 * day);
  expect(reasons(story)).toEqual(['web holds a leaf that expired at 2030-04-01T00:00:00.000Z']);
  story.now = instant(story.now - 92 * day);
  expect(reasons(story)).toEqual([
    'CA generation 1 is not valid before 2029-12-31T23:00:00.000Z',
    'web holds a leaf that is not valid before 2029-12-31T23:00:00.000Z',
  ]);
});

test('Ready is false while a bundle refuses a leaf, and asks the certificates wherever notes may be wrong', () => {
  const story = stable();
  const trust = story.objects.get('trust');
  if (trust === undefined) throw new TypeError('no bundle');
  story.objects.set('trust', { ...trust, anchors: [{ fingerprint: 'other', since: story.now }] });
  expect(reasons(story)).toEqual(['trust refuses the leaf of web: unknown CA']);
  story.objects.set('trust', { ...trust, revision: 0 });
  expect(reasons(story)).toEqual(['trust refuses the leaf of web: unknown CA']);
  expect(reasons(story, () => undefined)).toEqual([]);
});

test('Ready is not said of a leaf whose CA has ended', () => {
  const story = stable();
  const object = story.objects.get('web');
  if (object?.leaf === undefined) throw new TypeError('no leaf');
  story.pass(2000 * day);
  const leaf = { ...object.leaf, notAfter: instant(story.now + day) };
  story.objects.set('web', { ...object, leaf });
  expect(reasons(story)).toEqual([
    expect.stringMatching(/^CA generation 1 expired at /),
    expect.stringMatching(/ refuses the leaf of web: /),
  ]);
});

test('Ready does not depend on other namespaces, unless an object is still as this authority wrote it', () => {
  const story = stable();
  story.set({ bundles: [...story.policy.bundles, { object: 'wide', extra: [], elsewhere: true }] });
  expect(reasons(story)).toEqual([]);
  story.run();
  const wide = story.objects.get('wide');
  if (wide === undefined) throw new TypeError('no bundle');
  const spoilt = { ...wide, anchors: [{ fingerprint: 'evil', since: story.now }] };
  story.objects.set('wide', spoilt);
  expect(reasons(story)).toEqual(['wide refuses the leaf of web: unknown CA']);
  story.objects.set('wide', { ...spoilt, revision: 0 });
  expect(reasons(story)).toEqual([]);
  story.objects.set('wide', { ...spoilt, obstacle: 'it is not ours' });
  expect(reasons(story)).toEqual([]);
});
