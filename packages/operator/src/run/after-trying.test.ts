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

test('a refused write in another namespace is an obstacle of its object', () => {
  expect(after(refusal({})).observation.seen.objects).toMatchObject([
    { id: 'team/secrets/web', obstacle: 'it could not be written: no such luck' },
  ]);
});

test('a write in another namespace that met a conflict is no obstacle: the next pass reads the object again', () => {
  const { observation: seen, others } = after(refusal({ raced: true, why: 'changed meanwhile' }));
  expect(seen.seen.objects).toEqual([]);
  expect(others).toEqual([]);
});

test('a refused write to an object that the Authority does not keep is reported beside its objects', () => {
  expect(after(refusal({ object: 'team/deployments/web' })).others).toEqual(['no such luck']);
});
