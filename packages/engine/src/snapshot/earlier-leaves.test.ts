import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { EarlierLeaves } from './earlier-leaves.ts';
import type { AuthorityRecord } from './home.ts';
import type { Responsibilities } from './responsibilities.ts';
import type { ConsumerFound, LeafIssuers } from './snapshot.ts';

const recordOf = (...cas: readonly string[]): AuthorityRecord =>
  ({
    state: { generations: cas.map((fingerprint) => ({ anchors: [{ fingerprint }] })) },
  }) as unknown as AuthorityRecord;

test('an earlier leaf is known until its CA leaves the authority, and to its own authority alone', async () => {
  let known: LeafIssuers = new Map();
  const source = new EarlierLeaves().of({
    consumers: async (_responsibilities, _record, _now, { issuers }) => {
      known = issuers;
      return [];
    },
  });
  const seen = async (id: string, record: AuthorityRecord, ...held: readonly [string, string][]) => {
    const issued = { orphans: [], issuers: new Map(held) };
    await source.consumers({ id } as Responsibilities, record, instant(0), issued);
    return Object.fromEntries(known);
  };
  await seen('a/mesh', recordOf('ca1'), ['leaf1', 'ca1'], ['foreign', 'unknown']);
  expect(await seen('a/mesh', recordOf('ca2', 'ca1'), ['leaf2', 'ca2'])).toEqual({
    leaf1: 'ca1',
    leaf2: 'ca2',
  });
  expect(await seen('b/mesh', recordOf('ca1'))).toEqual({});
  expect(await seen('a/mesh', recordOf('ca2'), ['leaf3', 'ca2'])).toEqual({ leaf2: 'ca2', leaf3: 'ca2' });
});

test('a leaf that a status document names by its fingerprint alone has the end that it had in its object', async () => {
  const shown = {
    by: 'acknowledged',
    at: instant(0),
    issuer: 'ca1',
    leaves: [{ fingerprint: 'leaf1' }, { fingerprint: 'other' }],
  };
  const source = new EarlierLeaves().of({
    consumers: async () => [{ instances: [{ proofs: [shown] }] } as unknown as ConsumerFound],
  });
  const look = async (...held: readonly [string, string, number][]) => {
    const issued = {
      orphans: [],
      issuers: new Map(held.map(([leaf, ca]) => [leaf, ca])),
      ends: new Map(held.map(([leaf, _, end]) => [leaf, instant(end)])),
    };
    const [found] = await source.consumers(
      { id: 'a/mesh' } as Responsibilities,
      recordOf('ca2', 'ca1'),
      instant(0),
      issued,
    );
    return found?.instances[0]?.proofs[0]?.leaves;
  };
  await look(['leaf1', 'ca1', 5]);
  expect(await look(['leaf2', 'ca2', 9])).toEqual([
    { fingerprint: 'leaf1', notAfter: 5 },
    { fingerprint: 'other' },
  ]);
});
