import { expect, it } from 'vitest';
import { Random } from './random.ts';

const draw = (seed: number): number[] => {
  const random = new Random(seed);
  return Array.from({ length: 1000 }, () => random.fraction());
};

it('one seed decides every draw', () => {
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

it('one seed spreads draws over the whole range, for neighbouring seeds too', () => {
  for (const seed of [0, 1, 2, 2 ** 31]) {
    const tenths = new Set(draw(seed).map((value) => Math.floor(value * 10)));
    expect([...tenths].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }
  const firsts = Array.from({ length: 200 }, (_, seed) => new Random(seed).fraction());
  expect(firsts.filter((value) => value < 0.5).length).toBeGreaterThan(70);
  expect(firsts.filter((value) => value < 0.5).length).toBeLessThan(130);
});

it('one seed picks every item and every whole number of a range', () => {
  const random = new Random(3);
  const picked = new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c'])));
  const wholes = new Set(Array.from({ length: 100 }, () => random.whole(1, 3)));
  expect([picked.size, [...wholes].sort()]).toEqual([3, [1, 2, 3]]);
});
