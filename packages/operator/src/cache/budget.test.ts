import { expect, test } from 'vitest';
import { Budget } from './budget.ts';

const KIB = 1_024;

test('a namespace gets its share and no more, and takes no memory of another namespace', () => {
  const budget = new Budget({ whole: 100 * KIB, share: 10 * KIB });
  expect(budget.charge('evil', 0, 9 * KIB)).toBe(true);
  expect(budget.charge('evil', 0, 2 * KIB)).toBe(false);
  expect(budget.charge('prod', 0, 9 * KIB)).toBe(true);
  // What is charged in the place of something else counts alone.
  expect(budget.charge('evil', 9 * KIB, 10 * KIB)).toBe(true);
});

test('namespaces that no Authority serves get a sixteenth of a share, and together a sixteenth of the whole', () => {
  const budget = new Budget({ whole: 1_600 * KIB, share: 160 * KIB });
  budget.serve(new Set(['prod']));
  expect(budget.charge('stranger', 0, 11 * KIB)).toBe(false);
  const kept = Array.from({ length: 200 }, (_, i) => budget.charge(`stranger-${i}`, 0, 9 * KIB));
  expect(kept.filter(Boolean)).toHaveLength(11);
  expect(budget.charge('prod', 0, 150 * KIB)).toBe(true);
});

test('when the whole is used up, a namespace with little still has room, and one with much has none', () => {
  const budget = new Budget({ whole: 100 * KIB, share: 60 * KIB });
  expect(budget.charge('one', 0, 50 * KIB)).toBe(true);
  expect(budget.charge('two', 0, 50 * KIB)).toBe(true);
  expect(budget.charge('two', 50 * KIB, 51 * KIB)).toBe(false);
  expect(budget.charge('three', 0, 20 * KIB)).toBe(true);
});

test('what a namespace holds moves along when an Authority begins to serve it, and those that wait are told', () => {
  const budget = new Budget({ whole: 1_600 * KIB, share: 160 * KIB });
  budget.serve(new Set());
  const told: string[] = [];
  budget.onRoom((namespace) => told.push(namespace));
  expect(budget.charge('prod', 0, 8 * KIB)).toBe(true);
  expect(budget.charge('prod', 0, 8 * KIB)).toBe(false);
  budget.refused('prod', told, true);
  budget.serve(new Set(['prod']));
  expect(told).toEqual(['prod']);
  expect(budget.charge('prod', 0, 152 * KIB)).toBe(true);
  expect(budget.charge('prod', 0, KIB)).toBe(false);
});

test('a namespace that goes over its share is told of once, until it is within it again', () => {
  const told: string[] = [];
  const budget = new Budget({ onOver: (namespace) => told.push(namespace) });
  const [pods, secrets] = [{}, {}];
  budget.refused('evil', pods, true);
  budget.refused('evil', secrets, true);
  budget.refused('evil', pods, false);
  expect([told, budget.over]).toEqual([['evil'], ['evil']]);
  budget.refused('evil', secrets, false);
  expect(budget.over).toEqual([]);
  budget.refused('evil', pods, true);
  expect(told).toEqual(['evil', 'evil']);
});

test('what waits begins once it is known which namespaces are served', () => {
  const budget = new Budget({ waits: true });
  const begun: string[] = [];
  budget.whenOpen(() => begun.push('watch'));
  expect(begun).toEqual([]);
  budget.serve(new Set());
  expect(begun).toEqual(['watch']);
  budget.whenOpen(() => begun.push('later'));
  expect(begun).toEqual(['watch', 'later']);
});
