import { day, duration, instant, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { isServedWrong, type Served, type ServedLeaf, servings } from './index.ts';
import type { ConsumerSeen, ObjectSeen } from './observed.ts';

const NOW = instant(Date.UTC(2030, 0, 10));
const leaf = (fingerprint: string, more: Partial<ServedLeaf> = {}): ServedLeaf => ({
  fingerprint,
  notAfter: instant(NOW + day),
  issuer: 'ca2',
  names: ['CN=web'],
  ...more,
});
const object = (id: string, fingerprint: string): ObjectSeen => ({
  id,
  version: '1',
  revision: 1,
  anchors: [],
  changedAt: NOW,
  leaf: {
    fingerprint,
    issuer: 'ca2',
    chain: [],
    notBefore: NOW,
    notAfter: instant(NOW + day),
    spec: '',
    writtenAt: instant(NOW - 5 * minute),
    issuerSince: NOW,
    replacedOne: false,
    othersExpire: undefined,
  },
});
const objects = [object('web', 'new'), object('api', 'of-api')];

const shown = (served: Partial<Served>, more: Partial<ConsumerSeen> = {}, trust?: string) => {
  const consumer: ConsumerSeen = {
    id: 'web',
    reload: 'hot',
    ownersWord: true,
    blocks: true,
    presents: ['web'],
    verifies: [],
    workload: undefined,
    instances: [
      {
        uid: 'web',
        createdAt: undefined,
        ready: true,
        stamp: undefined,
        proofs: [],
        ...(trust === undefined ? {} : { unread: { trust } }),
        served: { at: NOW, since: NOW, leaves: [], ...served },
      },
    ],
    ...more,
  };
  const generations = [{ number: 2, anchors: [{ fingerprint: 'ca2' }] }];
  const authority = { generations } as never;
  return servings({ authority, objects, consumers: [consumer] }, NOW).get('web') ?? [];
};
const stateOf = (...args: Parameters<typeof shown>) => shown(...args).map(({ state }) => state);

test('what a server serves is compared with its file: the newest leaf, an older one, that of another Leaf, a stranger’s, an expired one', () => {
  expect(stateOf({ leaves: [leaf('new')] })).toEqual(['newest']);
  expect(stateOf({ leaves: [leaf('old')] })).toEqual(['older']);
  expect(stateOf({ leaves: [leaf('of-api')] })).toEqual(['other']);
  expect(stateOf({ leaves: [leaf('old', { object: 'api' })] })).toEqual(['other']);
  expect(stateOf({ leaves: [leaf('x', { issuer: undefined, signedBy: 'CN=evil' })] })).toEqual(['foreign']);
  expect(stateOf({ leaves: [leaf('new', { notAfter: NOW })] })).toEqual(['expired']);
});

test('the worst of several leaves behind one address comes first', () => {
  expect(stateOf({ leaves: [leaf('new'), leaf('old', { notAfter: NOW }), leaf('old2')] })).toEqual([
    'expired',
    'older',
    'newest',
  ]);
});

test('a fingerprint alone shows no stranger: the leaf may be one from before', () => {
  expect(stateOf({ leaves: [{ fingerprint: 'old', issuer: undefined, names: [] }] })).toEqual(['older']);
});

test('a program that presents no leaf need not name one, and is named if nothing can be read of it', () => {
  const none = { none: { reason: 'unread', why: 'lists no leaf' } } as const;
  expect(stateOf(none, { presents: [] })).toEqual([]);
  expect(stateOf(none, { presents: [] }, 'no document')).toEqual(['unseen']);
  expect(stateOf(none)).toEqual(['unseen']);
});

test('an older leaf is wrong once reloadWithin is over, by the time at which it was seen', () => {
  const held = new Map(objects.map((one) => [one.id, one]));
  const isWrong = (served: Partial<Served>, within: number) =>
    shown(served).map((one) => isServedWrong(one, held, duration(within)));
  expect(isWrong({ leaves: [leaf('old')] }, 10 * minute)).toEqual([false]);
  expect(isWrong({ leaves: [leaf('old')] }, 3 * minute)).toEqual([true]);
  expect(isWrong({ leaves: [leaf('old')], at: instant(NOW - 4 * minute) }, 3 * minute)).toEqual([false]);
  expect(isWrong({ none: { reason: 'pending', why: 'it does not run yet' } }, 0)).toEqual([false]);
  expect(isWrong({ none: { reason: 'unreachable', why: 'gone' } }, 0)).toEqual([true]);
});
