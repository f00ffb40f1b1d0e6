import { EventEmitter, once } from 'node:events';
import { HandoverError } from '@handover/material';
import { expect, test } from 'vitest';
import type { Catalogue, Unusable } from '../snapshot/catalogue.ts';
import { survey, unusableLine } from './unusable.ts';

const INVALID: readonly Unusable[] = [
  { kind: 'Authority', id: 'b/old', code: 'RESOURCE_INVALID', message: 'spec.x: unknown field' },
  { kind: 'Leaf', id: 'b/web', code: 'RESOURCE_INVALID', message: 'spec.y: unknown field' },
];
const PLAIN = { metadata: {}, spec: { consumers: [] } };
const catalogue = {
  authorities: new Map(['a/one', 'b/two', 'c/three'].map((id) => [id, PLAIN])),
  leaves: [],
  trustBundles: [],
  leftOut: INVALID,
} as unknown as Catalogue;
const failing = (error: Error) => async (id: string) => {
  if (id === 'b/two') throw error;
  return id;
};

test('an error of one authority is named beside what is invalid, and the others are found', async () => {
  const error = new HandoverError('STATE_UNREADABLE', 'Secret x lacks a key; restore it');
  const { found, unusable } = await survey({ catalogue }, undefined, failing(error));
  expect(found).toEqual(['a/one', 'c/three']);
  expect(unusable.map(unusableLine)).toEqual([
    'Authority b/old: RESOURCE_INVALID: spec.x: unknown field',
    'Leaf b/web: RESOURCE_INVALID: spec.y: unknown field',
    'Authority b/two: STATE_UNREADABLE: Secret x lacks a key; restore it',
  ]);
});

test('a survey of one authority says nothing about others', async () => {
  const error = new HandoverError('STATE_UNREADABLE', 'broken');
  const of = (only: string) => survey({ catalogue }, only, failing(error));
  expect(await of('a/one')).toEqual({ found: ['a/one'], unusable: [] });
  expect(await of('b/two')).toMatchObject({ found: [], unusable: [{ id: 'b/two' }] });
  expect(await of('b/old')).toEqual({ found: [], unusable: [INVALID[0]] });
});

test.each([
  new HandoverError('KUBE_UNAVAILABLE', 'no answer'),
  new HandoverError('HOME_FORBIDDEN', 'no right'),
  new TypeError('a bug'),
])('%s fails the whole survey of authorities', async (error) => {
  await expect(survey({ catalogue }, undefined, failing(error))).rejects.toBe(error);
});

test('an authority that is deleted during a survey is no error, unless it was asked for', async () => {
  const error = new HandoverError('AUTHORITY_UNKNOWN', 'there is none');
  const each = failing(error);
  expect((await survey({ catalogue }, undefined, each)).unusable).toEqual(INVALID);
  await expect(survey({ catalogue }, 'b/two', each)).rejects.toBe(error);
});

test('authorities are surveyed side by side, and reported in their order', async () => {
  const ids = ['shop/a', 'shop/b', 'shop/c'];
  const three = { ...catalogue, authorities: new Map(ids.map((id) => [id, PLAIN])) } as unknown as Catalogue;
  let begun = 0;
  const all = new EventEmitter();
  const { found } = await survey({ catalogue: three }, undefined, async (id) => {
    const together = once(all, 'begun');
    if (++begun === ids.length) setImmediate(() => all.emit('begun'));
    await together;
    return id;
  });
  expect(found).toEqual(ids);
});
