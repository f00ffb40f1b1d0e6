import { day, hour, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { LIFETIME, Story, T0 } from '../../test/story.ts';
import { closeness, renewalDueAt } from './expiry.ts';

const codes = (story: Story): string[] => story.plan().notes.map(({ code, object }) => `${code} ${object}`);
const at = (story: Story, share: number): Story => {
  story.now = instant(T0 + share * LIFETIME);
  return story;
};

test('a CA that is not replaced in time is warned of, then it is critical, and it says what keeps it', () => {
  const story = new Story().set({ paused: true });
  story.run();
  // Due at 80 %: half of what is left then is over at 90 %, nine tenths at 98 %.
  expect(codes(at(story, 0.8999))).toEqual([]);
  expect(codes(at(story, 0.9))).toEqual(['ExpiringSoon CA generation 1']);
  expect(codes(at(story, 0.9799))).toEqual(['ExpiringSoon CA generation 1']);
  expect(codes(at(story, 0.98))).toEqual(['Critical CA generation 1']);
  expect(story.plan().notes[0]?.message).toBe(
    'expires at 2032-09-27T00:00:00.000Z and still signs; spec.rotation.paused keeps it from being replaced',
  );
  expect(at(story, 1).plan().notes[0]?.message).toContain('expired at 2032-09-27');
});

test('a rotation that ends in time causes no warning', () => {
  const story = new Story();
  story.run();
  for (let time = 0; time < 3 * LIFETIME; time += 5 * day) {
    story.now = instant(T0 + time);
    story.acknowledgeAll().run();
    expect(codes(story)).toEqual([]);
  }
  expect(story.authority?.lastGeneration).toBeGreaterThan(2);
});

test('an old CA that cannot be retired is warned of as long as its leaves may be in use', () => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web'] });
  story.run();
  at(story, 0.81).run();
  at(story, 0.97).run();
  expect(story.roles()).toBe('2:current 1:previous');
  expect(codes(story)).toContain('ExpiringSoon CA generation 1');
  at(story, 0.985).run();
  expect(codes(story)).toContain('Critical CA generation 1');
  expect(story.plan().notes.find(({ code }) => code === 'Critical')?.message).toContain(
    'its leaves may still be in use; blockedBy in status says what it waits for',
  );
});

test('a leaf is about to expire by the same shares as a CA, counted from its renewal', () => {
  const leaf = { notBefore: instant(T0 - hour), notAfter: instant(T0 + 100 * day) };
  const due = renewalDueAt(leaf, 0.5);
  expect(due).toBe(T0 + 50 * day);
  const seen = [50, 74, 75, 94, 95, 100, 101].map((days) =>
    closeness(due, leaf.notAfter, instant(T0 + days * day)),
  );
  expect(seen).toEqual([
    undefined,
    undefined,
    'ExpiringSoon',
    'ExpiringSoon',
    'Critical',
    'Critical',
    'Critical',
  ]);
});
