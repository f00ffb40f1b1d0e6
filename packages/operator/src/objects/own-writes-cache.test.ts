import { VirtualClock } from '@handover/material';
import { expect, test } from 'vitest';
import type { Source } from './fresh.ts';
import { OwnWritesCache } from './own-writes-cache.ts';
import type { Place } from './place.ts';
import type { ObjectProjection } from './projection.ts';

const place: Place = { plural: 'secrets', namespace: 'a', name: 'b', part: '' };
const held = (version: string): ObjectProjection => ({
  plural: 'secrets',
  namespace: 'a',
  name: 'b',
  uid: 'u',
  version,
  entries: {},
  immutable: false,
  keptIn: undefined,
  data: {},
  binary: [],
  labelled: true,
  injectable: true,
  annotations: {},
  owner: undefined,
  keeper: undefined,
  lastForeign: undefined,
});

const world = () => {
  const state: { cached: ObjectProjection | undefined; server: ObjectProjection | undefined; asked: number } =
    {
      cached: held('1'),
      server: held('1'),
      asked: 0,
    };
  const cache: Source = {
    held: async () => state.cached,
    all: async () => (state.cached === undefined ? [] : [state.cached]),
  };
  const server: Source = {
    held: async () => {
      state.asked++;
      return state.server;
    },
    all: async () => [],
  };
  return { state, ownWrites: new OwnWritesCache(cache, server, new VirtualClock()) };
};

test('the answer to a write counts until the cache has a newer version', async () => {
  const { state, ownWrites } = world();
  await ownWrites.wrote('1', held('2'));
  expect((await ownWrites.held(place))?.version).toBe('2');
  expect((await ownWrites.all('secrets')).map(({ version }) => version)).toEqual(['2']);
  state.cached = held('3');
  expect((await ownWrites.held(place))?.version).toBe('3');
  state.cached = held('4');
  expect((await ownWrites.held(place))?.version).toBe('4');
  expect(state.asked).toBe(0);
});

test('an event that came before the answer to the write counts instead of the answer', async () => {
  const { state, ownWrites } = world();
  state.cached = held('3');
  await ownWrites.wrote('1', held('2'));
  expect((await ownWrites.held(place))?.version).toBe('3');
});

test('a new object is seen before the cache has it, and only once', async () => {
  const { state, ownWrites } = world();
  state.cached = undefined;
  await ownWrites.wrote(undefined, held('1'));
  expect((await ownWrites.held(place))?.version).toBe('1');
  expect(await ownWrites.all('secrets')).toHaveLength(1);
  state.cached = held('1');
  expect(await ownWrites.all('secrets')).toHaveLength(1);
});

test('after a conflict the API server is asked once, and its answer counts until the cache has a newer version', async () => {
  const { state, ownWrites } = world();
  state.server = held('2');
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('2');
  expect((await ownWrites.held(place))?.version).toBe('2');
  expect(state.asked).toBe(1);
  state.cached = held('5');
  expect((await ownWrites.held(place))?.version).toBe('5');
});

test('a conflict discards the answer to the last write', async () => {
  const { state, ownWrites } = world();
  await ownWrites.wrote('1', held('2'));
  state.server = held('7');
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('7');
});

test('an API server that was restored from a backup is believed, against the answer to the last write', async () => {
  const { ownWrites } = world();
  await ownWrites.wrote('1', held('2'));
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('1');
  expect((await ownWrites.held(place))?.version).toBe('1');
});

test('an object that the API server no longer has is gone', async () => {
  const { state, ownWrites } = world();
  state.server = undefined;
  ownWrites.doubt(place);
  expect(await ownWrites.held(place)).toBeUndefined();
});

test('a write on the API server’s answer, while the cache is behind, replaces that answer', async () => {
  const { state, ownWrites } = world();
  state.server = held('2');
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('2');
  await ownWrites.wrote('2', held('3'));
  expect((await ownWrites.held(place))?.version).toBe('3');
  state.cached = held('3');
  expect((await ownWrites.held(place))?.version).toBe('3');
});

test('an object that the cache lacks is read each time, until the cache has it or it is gone', async () => {
  const { state, ownWrites } = world();
  state.cached = undefined;
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('1');
  expect(ownWrites.isStranger(place)).toBe(true);
  state.server = held('2');
  expect((await ownWrites.held(place))?.version).toBe('2');
  state.server = undefined;
  expect(await ownWrites.held(place)).toBeUndefined();
  expect(ownWrites.isStranger(place)).toBe(false);
});

test('a new object that is deleted before the next pass is gone', async () => {
  const { state, ownWrites } = world();
  state.cached = undefined;
  await ownWrites.wrote(undefined, held('1'));
  expect((await ownWrites.held(place))?.version).toBe('1');
  ownWrites.moved('secrets', 'a/b');
  expect(await ownWrites.held(place)).toBeUndefined();
});
