import { expect, test } from 'vitest';
import { explain } from './explain.ts';
import { caGenerations, listed, sentenceOf, waitGroups, waitingText } from './waiting.ts';

const phrases = (...waits: readonly (readonly [consumer: string, waitsFor: string])[]): readonly string[] =>
  waitGroups(waits.map(([consumer, waitsFor]) => ({ consumer, waitsFor, since: 1 }))).map(
    ({ phrase }) => phrase,
  );

test('consumers that have to do the same thing are named in one sentence, since the earliest', () => {
  const groups = waitGroups([
    { consumer: 'web', waitsFor: 'to load CA generation 3', since: '2030-01-02T00:00:00.000Z' },
    { consumer: 'db', waitsFor: 'to restart with CA generation 3', since: '2030-01-02T00:00:00.000Z' },
    { consumer: 'api', waitsFor: 'to load CA generation 3', since: '2030-01-01T00:00:00.000Z' },
    { consumer: 'web', waitsFor: 'to load CA generation 3', since: '2030-01-02T00:00:00.000Z' },
  ]);
  expect(groups).toEqual([
    { phrase: 'waiting for web, api to load CA generation 3', since: '2030-01-01T00:00:00.000Z' },
    { phrase: 'waiting for db to restart with CA generation 3', since: '2030-01-02T00:00:00.000Z' },
  ]);
});

test('a text about several waits has the first phrases, and counts the others', () => {
  const waits = ['to load a', 'to load b', 'to load c'].map((waitsFor) => ({
    consumer: 'web',
    waitsFor,
    since: 1,
  }));
  expect(waitingText(waits, 2)).toBe('waiting for web to load a; waiting for web to load b; and 1 more');
});

test('a blocker that is a sentence of its own is told without a consumer', () => {
  expect(phrases(['rotation.paused', 'paused: set spec.rotation.paused to false to go on'])).toEqual([
    'paused: set spec.rotation.paused to false to go on',
  ]);
});

test('a text with many names lists the first, and counts the others', () => {
  expect(phrases(...[...'abcdefg'].map((name) => [name, 'to load it'] as const))).toEqual([
    'waiting for a, b, c, d, e and 2 more to load it',
  ]);
  expect(listed(['a', 'b', 'c'], 2)).toBe('a, b and 1 more');
});

test('a phrase about a wait becomes a sentence with a capital and one full stop', () => {
  expect([sentenceOf('waiting'), sentenceOf('waiting.')]).toEqual(['Waiting.', 'Waiting.']);
});

test('a text about one CA generation or several has the right number, also in a plan', () => {
  expect(caGenerations([3])).toBe('CA generation 3');
  expect(caGenerations([1, 2, 3])).toBe('CA generations 1, 2 and 3');
  const distrust = (generations: readonly number[]): readonly string[] => {
    const replacement = { generation: 4, minted: true, crossBy: undefined };
    const action = {
      kind: 'distrust',
      generations,
      replacement,
      expect: 1,
      revision: 2,
      why: 'asked',
    } as const;
    return explain({
      phase: 'Stable',
      actions: [action],
      blockedBy: [],
      notes: [],
      retained: [],
      wakeAt: undefined,
    });
  };
  expect(distrust([2, 3])).toEqual([
    'Distrust CA generations 2 and 3 everywhere at once; CA generation 4 replaces them, because asked.',
  ]);
  expect(distrust([3])).toEqual([
    'Distrust CA generation 3 everywhere at once; CA generation 4 replaces it, because asked.',
  ]);
});
