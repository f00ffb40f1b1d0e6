import type { ConsumerSeen, InstanceSeen } from '@handover/core';
import { after, type Instant, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { askAgainAt } from './ask-again.ts';

const T0: Instant = instant(Date.UTC(2030, 0, 1));
const waits = { blockedBy: [{ consumer: 'web', waitsFor: 'to load CA generation 2', since: T0 }] };
const pod = (shown: Partial<InstanceSeen>): readonly Pick<ConsumerSeen, 'instances'>[] => [
  { instances: [{ uid: 'web-1', createdAt: T0, ready: true, stamp: undefined, proofs: [], ...shown }] },
];
const proof = { by: 'acknowledged', at: T0, anchors: ['ca1'] } as const;
const refused = { trust: 'connection refused', leaf: 'connection refused' };

test.each([
  [0, 1],
  [5, 1],
  [30, 3],
  [3_600, 10],
])('a step that has waited %d s asks again after %d s', (waited, seconds) => {
  const now = after(T0, waited * 1_000);
  expect(askAgainAt(waits, pod({ proofs: [proof] }), now)).toBe(after(now, seconds * 1_000));
});

test('a pod that gave no answer is asked again as soon as a pod that did', () => {
  expect(askAgainAt(waits, pod({ unread: refused }), T0)).toBe(after(T0, 1_000));
});

test('pods that declare no address, and steps that do not wait, are not asked again', () => {
  expect(askAgainAt(waits, pod({}), T0)).toBeUndefined();
  expect(askAgainAt({ blockedBy: [] }, pod({ proofs: [proof] }), T0)).toBeUndefined();
});
