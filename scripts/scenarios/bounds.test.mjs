import { expect, test } from 'vitest';
import { BOUNDS, bounded, boundsPart, judge, table } from './bounds.mjs';
import { SCENARIOS } from './list.mjs';
import { testFiles } from './scenarios.mjs';

const all = Object.entries(BOUNDS).map(([id, { ms }]) => ({ id, ms }));

test('a time bound belongs to a scenario, and tests allow more than the bound', () => {
  for (const [id, { ms, inTests }] of Object.entries(BOUNDS)) {
    expect(SCENARIOS).toHaveProperty([id]);
    expect(inTests).toBeGreaterThan(ms);
  }
});

test('a scenario whose slowest time is its bound holds; one above it, or never measured, is missed', () => {
  expect(judge(all).filter(({ holds }) => !holds)).toEqual([]);
  const slow = judge([...all, { id: 'S2.1', ms: 1_001 }]).filter(({ holds }) => !holds);
  expect(slow).toMatchObject([{ id: 'S2.1', slowest: 1_001, count: 2 }]);
  const missing = judge(all.filter(({ id }) => id !== 'S0.5')).filter(({ holds }) => !holds);
  expect(missing).toMatchObject([{ id: 'S0.5', count: 0 }]);
  expect(table(missing)).toContain('| 10 s | not measured | 0 | MISSED |');
});

test('every bounded scenario is measured by a test that the bench runs', () => {
  const texts = bounded(testFiles);
  expect(texts).toContain('packages/operator/test/cluster/process.test.ts');
  expect(texts).toContain('packages/runtime/src/s2-watch.system.test.ts');
  expect(texts.filter((file) => file.includes('/rotation/'))).toEqual([]);
});

test('docs/scenarios.md names both bounds', () => {
  expect(boundsPart()).toContain(
    '| S2.1 | new handshakes succeed after the CA file was swapped | 1 s | 5 s |',
  );
});
