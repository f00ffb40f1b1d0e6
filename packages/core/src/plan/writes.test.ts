import { day, duration, hour, instant, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { anchor, LIFETIME, Story, T0, waits } from '../../test/story.ts';

test('a leaf is never renewed to the end it already has', () => {
  const story = new Story().leaf('web', duration(90 * day)).set({ rotate: { before: duration(0) } });
  story.run();
  const end = story.authority?.generations[0]?.anchors[0].notAfter ?? 0;
  story.now = instant(end - 60 * day);
  expect(story.run().map((action) => action.kind)).toEqual(['write-leaf']);
  expect(story.objects.get('web')?.leaf?.notAfter).toBe(end);
  story.now = instant(end - minute);
  expect(story.plan().actions).toEqual([]);
});

test('an expired CA leaves a bundle an hour late, and the last one never', () => {
  const company = anchor('company', T0, 10 * day);
  const story = new Story().set({ bundles: [{ object: 'trust', extra: [company] }] });
  story.run();
  expect(story.held('trust')).toBe('ca1 company');
  story.now = instant(company.notAfter + hour - 1);
  expect(story.plan()).toMatchObject({ actions: [], wakeAt: company.notAfter + hour });
  story.pass(1).run();
  expect(story.held('trust')).toBe('ca1');
  story.set({ paused: true });
  story.now = instant(T0 + LIFETIME + day);
  expect(story.plan()).toMatchObject({
    actions: [],
    notes: [{ code: 'Critical' }, { code: 'Degraded', object: 'trust' }],
  });
});

test('an object that is ahead of the authority stops every write and is named', () => {
  const story = new Story().leaf('web');
  story.run();
  const trust = story.objects.get('trust');
  if (trust) story.objects.set('trust', { ...trust, revision: 9, anchors: [] });
  story.rotate = ['r'];
  expect(story.plan().actions).toEqual([]);
  expect(waits(story)[0]).toMatch(
    /^trust: trust was made from a newer state than revision \d+ of the Authority; restore/,
  );
});

test('an object with an older revision is written again though its bytes are right', () => {
  const story = new Story();
  story.run();
  const trust = story.objects.get('trust');
  if (trust) story.objects.set('trust', { ...trust, revision: 0 });
  expect(story.plan().actions).toMatchObject([{ kind: 'write-bundle', revision: 1, expect: '1' }]);
});

test('a new leaf is issued when its spec changes', () => {
  const story = new Story().leaf('web');
  story.run();
  const [leaf] = story.policy.leaves;
  if (leaf) story.set({ leaves: [{ ...leaf, spec: 'v2' }] });
  expect(story.run()).toMatchObject([
    { kind: 'write-leaf', why: 'its spec changed', issue: { replacesOne: true } },
  ]);
});

test('a Secret that is deleted in the middle of a rotation is not taken for a new one', () => {
  const story = new Story().leaf('web');
  story.run();
  story.pass(day);
  story.rotate = ['r'];
  story.run();
  story.objects.delete('web');
  story.run();
  expect(story.objects.get('web')?.leaf).toMatchObject({ issuer: 'ca2', replacedOne: true });
  expect(story.objects.get('web')?.leaf?.othersExpire).toBeGreaterThan(story.now);
});
