import { expect, test } from 'vitest';
import { withWish } from './wishes.ts';

const none = (): boolean => false;

test('a later request pushes out none that is not taken up yet, however many there are', () => {
  const asked = ['a', 'b', 'c', 'd', 'e', 'f'];
  expect(asked.reduce<readonly string[]>((known, wish) => withWish(known, wish, none), [])).toEqual(asked);
});

test('of those that were taken up the oldest go first, so that five are shown', () => {
  const taken = (wish: string): boolean => 'abcd'.includes(wish);
  expect(withWish(['a', 'b', 'c', 'd', 'e'], 'f', taken)).toEqual(['b', 'c', 'd', 'e', 'f']);
  expect(withWish(['a', 'e', 'b', 'g', 'h'], 'f', taken)).toEqual(['e', 'b', 'g', 'h', 'f']);
  expect(withWish(['a', 'e', 'g', 'h', 'i'], 'f', taken)).toEqual(['e', 'g', 'h', 'i', 'f']);
  expect(withWish(['e', 'a', 'b', 'g', 'h'], 'f', taken)).toEqual(['e', 'b', 'g', 'h', 'f']);
  expect(withWish(['e', 'g', 'a', 'h', 'i', 'j'], 'f', taken)).toEqual(['e', 'g', 'h', 'i', 'j', 'f']);
  expect(withWish(['a'], 'f', taken)).toEqual(['a', 'f']);
});
