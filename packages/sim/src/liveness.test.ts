import type { Plan } from '@handover/core';
import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { livenessOf } from './liveness.ts';
import { elsewhereSecretId, secretId } from './resources.ts';

type World = Parameters<typeof livenessOf>[1];

/** At rest, with one workload of another namespace that never shows another leaf. */
const world = {
  consumers: new Map([['mute', { traits: { id: 'mute', blocks: false, stuck: 'never' } }]]),
  setup: { policy: { consumersFound: true } },
  store: { now: instant(0), rotate: [], state: undefined },
} as unknown as World;

const failures = (plan: Partial<Plan>): readonly string[] | undefined => {
  const whole = { phase: 'Stable', actions: [], blockedBy: [], notes: [], retained: [], wakeAt: undefined };
  return livenessOf({ ...whole, ...plan } as Plan, world, true, () => false)?.failures;
};
const blockedBy = (consumer: string) =>
  failures({ blockedBy: [{ consumer, waitsFor: 'x', since: instant(0) }] });

test('a rotation that waits for an object or a workload of another namespace is a failure, whatever they do', () => {
  expect(blockedBy(secretId('nobody'))).toEqual([]);
  expect(blockedBy(elsewhereSecretId('nobody'))).toHaveLength(1);
  expect(blockedBy('mute')).toHaveLength(1);
});

test('a CA may stay trusted for a workload of another namespace that never shows a newer leaf, and not for nothing', () => {
  const retained = { generation: 1, unseen: false } as Plan['retained'][number];
  expect(failures({ retained: [{ ...retained, elsewhere: ['mute (restart pending)'] }] })).toEqual([]);
  expect(failures({ retained: [{ ...retained, elsewhere: [], unseen: true }] })).toEqual([]);
  expect(failures({ retained: [{ ...retained, elsewhere: [] }] })).toHaveLength(1);
});
