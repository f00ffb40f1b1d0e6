import type { KubeObject } from '@handover/kube';
import { expect, test } from 'vitest';
import { type Held, heldOf } from './held.ts';
import { Room } from './room.ts';

const held = (namespace: string, name: string, length: number): Held =>
  heldOf('configmaps', {
    metadata: { namespace, name, resourceVersion: '1' },
    data: { 'ca.crt': 'a'.repeat(length) },
  } as KubeObject);
const MIB = 1_024 * 1_024;

test('a hundred large objects of one namespace take a few MiB, and no memory of another namespace', () => {
  const room = new Room();
  const kept = Array.from({ length: 100 }, (_, i) => room.fit(held('evil', `x${i}`, MIB)));
  const whole = kept.filter(({ crowded }) => crowded !== true);
  expect(whole).toHaveLength(7);
  for (const { crowded, data } of kept) expect(Object.keys(data)).toHaveLength(crowded === true ? 0 : 1);
  expect(room.fit(held('prod', 'bundle', MIB)).crowded).toBeUndefined();
});

test('a small object is cached even if its namespace has used up its memory', () => {
  const room = new Room();
  for (let i = 0; i < 20; i++) room.fit(held('prod', `x${i}`, MIB));
  expect(room.fit(held('prod', 'leaf', 5_000)).crowded).toBeUndefined();
});

test('an object that is seen again takes no more memory, and a deleted one frees it', () => {
  const room = new Room();
  for (let i = 0; i < 20; i++) expect(room.fit(held('prod', 'one', 5 * MIB)).crowded).toBeUndefined();
  expect(room.fit(held('prod', 'two', 5 * MIB)).crowded).toBe(true);
  room.gone('configmaps', 'prod/one');
  expect(room.fit(held('prod', 'two', 5 * MIB)).crowded).toBeUndefined();
});
