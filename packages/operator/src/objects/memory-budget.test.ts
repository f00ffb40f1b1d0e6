import type { KubeObject } from '@handover/kube';
import { expect, test } from 'vitest';
import { MemoryBudget } from './memory-budget.ts';
import { type ObjectProjection, projectObject } from './projection.ts';

const held = (namespace: string, name: string, length: number): ObjectProjection =>
  projectObject('configmaps', {
    metadata: { namespace, name, resourceVersion: '1' },
    data: { 'ca.crt': 'a'.repeat(length) },
  } as KubeObject);
const MIB = 1_024 * 1_024;

test('a hundred large objects of one namespace take a few MiB, and no memory of another namespace', () => {
  const budget = new MemoryBudget();
  const kept = Array.from({ length: 100 }, (_, i) => budget.charge(held('evil', `x${i}`, MIB)));
  const whole = kept.filter(({ overBudget }) => overBudget !== true);
  expect(whole).toHaveLength(7);
  for (const { overBudget, data } of kept)
    expect(Object.keys(data)).toHaveLength(overBudget === true ? 0 : 1);
  expect(budget.charge(held('prod', 'bundle', MIB)).overBudget).toBeUndefined();
});

test('a small object is cached even if its namespace has used up its memory', () => {
  const budget = new MemoryBudget();
  for (let i = 0; i < 20; i++) budget.charge(held('prod', `x${i}`, MIB));
  expect(budget.charge(held('prod', 'leaf', 5_000)).overBudget).toBeUndefined();
});

test('an object that is seen again takes no more memory, and a deleted one frees it', () => {
  const budget = new MemoryBudget();
  for (let i = 0; i < 20; i++) expect(budget.charge(held('prod', 'one', 5 * MIB)).overBudget).toBeUndefined();
  expect(budget.charge(held('prod', 'two', 5 * MIB)).overBudget).toBe(true);
  budget.release('configmaps', 'prod/one');
  expect(budget.charge(held('prod', 'two', 5 * MIB)).overBudget).toBeUndefined();
});
