import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ANNOTATIONS } from './annotations.ts';
import * as foreign from './foreign-marks.ts';
import * as own from './marks.ts';

const namesIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return value.includes('/') ? [value] : [];
  return Object.values(value as object).flatMap(namesIn);
};
const listed = ANNOTATIONS.map(({ name }) => name);

test('every name of an annotation or label has one line in the table, and no other has', () => {
  const names = new Set([...namesIn(own), ...namesIn(foreign)]);
  expect(names.size).toBeGreaterThan(30);
  expect(listed.toSorted()).toEqual([...names].toSorted());
  for (const { name, value, on, means } of ANNOTATIONS) {
    expect(value, name).not.toBe('');
    expect(on, name).not.toBe('');
    expect(means, name).toMatch(/\.$/);
  }
});

test('a gate, which cannot import the names, advises only annotations of the table', () => {
  const gates = readFileSync(new URL('../plan/gates.ts', import.meta.url), 'utf8');
  const advised = [...gates.matchAll(/handover\.dev\/[a-z-]+/g)].map(([name]) => name);
  expect(advised.length).toBeGreaterThan(0);
  expect(listed).toEqual(expect.arrayContaining(advised));
});
