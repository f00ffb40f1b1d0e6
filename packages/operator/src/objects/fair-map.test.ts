import { expect, test } from 'vitest';
import { FairMap } from './fair-map.ts';

const namespaceOf = (key: string): string => key.split('/', 1)[0] ?? '';

test('a namespace that fills the map forgets entries of its own, and of no other namespace', () => {
  const map = new FairMap<number>(10, namespaceOf);
  map.set('shop/web', 1);
  for (let index = 0; index < 1_000; index++) map.set(`evil/${index}`, index);
  expect(map.size).toBe(10);
  expect(map.get('shop/web')).toBe(1);
  expect([map.get('evil/0'), map.get('evil/999')]).toEqual([undefined, 999]);
  map.set('shop/web', 2);
  map.delete('evil/999');
  expect([map.size, map.get('shop/web'), map.get('evil/999')]).toEqual([9, 2, undefined]);
});
