import type { AuthorityState, Generation } from '@handover/core';
import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { transitionOf } from './transition-of.ts';

const AT = instant(0);
const generation = (
  number: number,
  role: Generation['role'],
  more: Partial<Generation> = {},
): Generation => ({
  number,
  role,
  anchors: [{ fingerprint: `ca${number}`, notBefore: AT, notAfter: instant(9) }],
  hasKey: role !== 'retained',
  since: AT,
  ...more,
});
const state = (revision: number, ...generations: readonly Generation[]): AuthorityState => ({
  revision,
  generations,
  crosses: [],
  ids: [],
  distrusts: 0,
  lastGeneration: 2,
});
const elsewhere = { until: instant(5), objects: ['elsewhere/secrets/a'] };

test('a retired CA that stays trusted is told from one that is forgotten, and from one that is dropped later', () => {
  const before = state(3, generation(2, 'current'), generation(1, 'previous', { elsewhere }));
  const kept = state(4, generation(2, 'current'), generation(1, 'retained', { elsewhere }));
  const gone = state(4, generation(2, 'current'));
  expect(transitionOf(before, kept)).toEqual({ kind: 'retire', generation: 1, retain: { elsewhere } });
  expect(transitionOf(before, gone)).toEqual({ kind: 'retire', generation: 1 });
  expect(transitionOf(kept, { ...gone, revision: 5 })).toEqual({ kind: 'drop', generation: 1 });
});

test('what a CA is about to sign for another namespace is no end of a distrust', () => {
  const before = state(3, generation(2, 'current'), generation(1, 'retained', { elsewhere }));
  const after = state(3, generation(2, 'current', { elsewhere }), generation(1, 'retained', { elsewhere }));
  expect(transitionOf(before, after)).toEqual({ kind: 'record-issuance', generation: 2, elsewhere });
});
