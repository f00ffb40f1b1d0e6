import { after, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { Obstacles } from './obstacles.ts';

const now = instant(1_000_000);

test('a refused write is tried again after 5 s, then ever later, at most after 5 min', () => {
  const obstacles = new Obstacles();
  const waits: number[] = [];
  let at = now;
  for (let turn = 0; turn < 9; turn++) {
    obstacles.met('x', 'forbidden', at);
    const next = obstacles.nextTry(at) ?? at;
    expect(obstacles.why('x', instant(next - 1))).toBe('forbidden');
    expect(obstacles.why('x', next)).toBeUndefined();
    waits.push((next - at) / 1_000);
    at = next;
  }
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
});

test('a write that succeeds clears its obstacle, and the next refusal waits 5 s again', () => {
  const obstacles = new Obstacles();
  obstacles.met('x', 'forbidden', now);
  obstacles.met('x', 'forbidden', now);
  obstacles.overcome('x');
  expect(obstacles.why('x', now)).toBeUndefined();
  expect(obstacles.nextTry(now)).toBeUndefined();
  obstacles.met('x', 'forbidden', now);
  expect(obstacles.nextTry(now)).toBe(after(now, 5_000));
});

test('the next try is due with the earliest obstacle', () => {
  const obstacles = new Obstacles();
  obstacles.met('x', 'a', now);
  obstacles.met('x', 'a', now);
  obstacles.met('y', 'b', now);
  expect(obstacles.nextTry(now)).toBe(after(now, 5_000));
});

test('an obstacle of an object that is no longer asked for is forgotten, one that is still met is not', () => {
  const obstacles = new Obstacles();
  obstacles.met('gone', 'forbidden', now);
  let at = now;
  for (let turn = 0; turn < 9; turn++) {
    obstacles.met('asked', 'forbidden', at);
    at = obstacles.nextTry(at) ?? at;
  }
  expect(obstacles.last('gone')).toBeUndefined();
  expect(obstacles.last('asked')).toBe('forbidden');
});
