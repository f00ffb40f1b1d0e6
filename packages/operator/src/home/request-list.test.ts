import { expect, test } from 'vitest';
import { withRequest } from './request-list.ts';

const none = (): boolean => false;

test('a later rotation request pushes out no pending one, however many there are', () => {
  const asked = ['a', 'b', 'c', 'd', 'e', 'f'];
  expect(asked.reduce<readonly string[]>((known, wish) => withRequest(known, wish, none), [])).toEqual(asked);
});

test('the oldest rotation requests that have begun are dropped first, so that five are shown', () => {
  const taken = (wish: string): boolean => 'abcd'.includes(wish);
  expect(withRequest(['a', 'b', 'c', 'd', 'e'], 'f', taken)).toEqual(['b', 'c', 'd', 'e', 'f']);
  expect(withRequest(['a', 'e', 'b', 'g', 'h'], 'f', taken)).toEqual(['e', 'b', 'g', 'h', 'f']);
  expect(withRequest(['a', 'e', 'g', 'h', 'i'], 'f', taken)).toEqual(['e', 'g', 'h', 'i', 'f']);
  expect(withRequest(['e', 'a', 'b', 'g', 'h'], 'f', taken)).toEqual(['e', 'b', 'g', 'h', 'f']);
  expect(withRequest(['e', 'g', 'a', 'h', 'i', 'j'], 'f', taken)).toEqual(['e', 'g', 'h', 'i', 'j', 'f']);
  expect(withRequest(['a'], 'f', taken)).toEqual(['a', 'f']);
});
