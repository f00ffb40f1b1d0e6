import { VirtualClock } from '@handover/material';
import { expect, test } from 'vitest';
import type { Source } from './fresh.ts';
import { OwnWritesCache } from './own-writes-cache.ts';
import type { Place } from './place.ts';

const nothing: Source = { held: async () => undefined, all: async () => [] };
const place: Place = { plural: 'apiservices', namespace: undefined, name: 'a', part: '' };

const told = (): {
  ownWrites: OwnWritesCache;
  event: (version: string | undefined) => void;
  heard: string[];
} => {
  const ownWrites = new OwnWritesCache(nothing, nothing, new VirtualClock());
  const heard: string[] = [];
  return {
    ownWrites,
    heard,
    event: (version) =>
      ownWrites.unlessOurs('apiservices', 'a', version, () => heard.push(version ?? 'gone')),
  };
};

test('an event about the operator’s own write is ignored, whether the event or the answer comes first', () => {
  const { ownWrites, event, heard } = told();
  ownWrites.begin(place)('7');
  event('7');
  const ended = ownWrites.begin(place);
  event('8');
  ended('8');
  expect(heard).toEqual([]);
});

test('an event about another program’s write is heard once the operator’s own write is answered', () => {
  const { ownWrites, event, heard } = told();
  const ended = ownWrites.begin(place);
  event('7');
  event('8');
  expect(heard).toEqual([]);
  ended('8');
  expect(heard).toEqual(['7']);
  event('9');
  expect(heard).toEqual(['7', '9']);
});

test('every event is heard after a write that failed', () => {
  const { ownWrites, event, heard } = told();
  const ended = ownWrites.begin(place);
  event('7');
  ended(undefined);
  event('8');
  event(undefined);
  expect(heard).toEqual(['7', '8', 'gone']);
});
