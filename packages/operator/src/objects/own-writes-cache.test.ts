import { VirtualClock } from '@handover/material';
import { expect, test } from 'vitest';
import type { Source } from './fresh.ts';
import type { Held } from './held.ts';
import { OwnWritesCache } from './own-writes-cache.ts';
import type { Place } from './place.ts';

const place: Place = { plural: 'secrets', namespace: 'a', name: 'b', part: '' };
const held = (version: string): Held => ({
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
  const state: { cached: Held | undefined; server: Held | undefined; asked: number } = {
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

test('the answer to a write stands until the cache has moved on', async () => {
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

test('an event that was faster than the answer to the write is not covered by it', async () => {
  const { state, ownWrites } = world();
  state.cached = held('3');
  await ownWrites.wrote('1', held('2'));
  expect((await ownWrites.held(place))?.version).toBe('3');
});

test('a new object is seen before the cache has it, and once', async () => {
  const { state, ownWrites } = world();
  state.cached = undefined;
  await ownWrites.wrote(undefined, held('1'));
  expect((await ownWrites.held(place))?.version).toBe('1');
  expect(await ownWrites.all('secrets')).toHaveLength(1);
  state.cached = held('1');
  expect(await ownWrites.all('secrets')).toHaveLength(1);
});

test('after a conflict the server is asked, once, and what it says stands until the cache has moved on', async () => {
  const { state, ownWrites } = world();
  state.server = held('2');
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('2');
  expect((await ownWrites.held(place))?.version).toBe('2');
  expect(state.asked).toBe(1);
  state.cached = held('5');
  expect((await ownWrites.held(place))?.version).toBe('5');
});

test('a doubt takes our own last answer with it', async () => {
  const { state, ownWrites } = world();
  await ownWrites.wrote('1', held('2'));
  state.server = held('7');
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('7');
});

test('a server that was restored from a backup is believed, against our own last answer', async () => {
  const { ownWrites } = world();
  await ownWrites.wrote('1', held('2'));
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('1');
  expect((await ownWrites.held(place))?.version).toBe('1');
});

test('what has gone from the server is gone', async () => {
  const { state, ownWrites } = world();
  state.server = undefined;
  ownWrites.doubt(place);
  expect(await ownWrites.held(place)).toBeUndefined();
});

test('a write on what the server said, while the cache is behind, is remembered in its place', async () => {
  const { state, ownWrites } = world();
  state.server = held('2');
  ownWrites.doubt(place);
  expect((await ownWrites.held(place))?.version).toBe('2');
  await ownWrites.wrote('2', held('3'));
  expect((await ownWrites.held(place))?.version).toBe('3');
  state.cached = held('3');
  expect((await ownWrites.held(place))?.version).toBe('3');
});

test('what is there and not in the cache is asked for each time, until the cache has it or it is gone', async () => {
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

test('a new object that is deleted before the next look is gone', async () => {
  const { state, ownWrites } = world();
  state.cached = undefined;
  await ownWrites.wrote(undefined, held('1'));
  expect((await ownWrites.held(place))?.version).toBe('1');
  ownWrites.moved('secrets', 'a/b');
  expect(await ownWrites.held(place)).toBeUndefined();
});
