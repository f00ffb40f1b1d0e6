import type { Observation, Refused } from '@handover/engine';
import { expect, test } from 'vitest';
import { afterTrying } from './after-trying.ts';

const observation = {
  seen: { objects: [] },
  responsibilities: { leaves: new Map([['team/secrets/web', {}]]), bundles: new Map() },
  now: 0,
} as unknown as Observation;
const refusal = (more: Partial<Refused>): Refused => ({
  object: 'team/secrets/web',
  why: 'no such luck',
  raced: false,
  ...more,
});
const after = (...refused: readonly Refused[]) => afterTrying({ observation, refused }, () => undefined);

test('a write elsewhere that was refused is an obstacle of its object', () => {
  expect(after(refusal({})).observation.seen.objects).toMatchObject([
    { id: 'team/secrets/web', obstacle: 'it could not be written: no such luck' },
  ]);
});

test('a write elsewhere that lost a race is no obstacle: the next look tells what stands there', () => {
  const { observation: seen, others } = after(refusal({ raced: true, why: 'changed meanwhile' }));
  expect(seen.seen.objects).toEqual([]);
  expect(others).toEqual([]);
});

test('what was refused of no object of ours is told beside the objects', () => {
  expect(after(refusal({ object: 'team/deployments/web' })).others).toEqual(['no such luck']);
});
