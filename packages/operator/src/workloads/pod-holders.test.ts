import type { AuthorityState, InstanceSeen } from '@handover/core';
import { day, hour, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { holderOf } from './pod-holders.ts';
import type { Pod } from './pods.ts';

const T0 = instant(Date.UTC(2030, 0, 1));
const generation = (number: number, role: string) => ({
  number,
  role,
  since: instant(T0 + hour),
  podsUntil: instant(T0 + day),
  anchors: [{ fingerprint: `ca${number}`, notAfter: instant(T0 + 90 * day) }],
});
const state = {
  generations: [generation(2, 'current'), generation(1, 'previous')],
} as unknown as AuthorityState;

/** A pod whose newest certificate is of generation 2, as a probe shows too. */
const held = (sources: number, createdAt = T0) => {
  const instance: InstanceSeen = {
    uid: 'u',
    createdAt,
    ready: true,
    stamp: undefined,
    proofs: [{ by: 'probed', issuer: 'ca2', at: instant(T0 + 2 * hour) }],
  };
  const certificate = { fingerprint: 'leaf', notBefore: T0, notAfter: instant(T0 + day) };
  return holderOf({
    pod: { namespace: 'prod', name: 'web', uid: 'u', createdAt } as Pod,
    blocks: true,
    reload: 'hot',
    instance,
    leaf: { certificate, issuedAt: instant(T0 + 2 * hour), issuer: 'ca2' } as never,
    state,
    sources,
    refused: false,
  });
};

test('the newest certificate and a probe count for a pod with one certificate', () => {
  const { own, instances } = held(1);
  expect(own?.leaf).toMatchObject({ fingerprint: 'leaf', issuer: 'ca2' });
  expect(instances[0]?.proofs).toHaveLength(1);
  expect(own?.writtenBy?.remark).toBeUndefined();
});

test('the newest certificate and a probe do not count for a pod with two: it may use the old CA until its last certificate ends', () => {
  const { own, instances } = held(2);
  expect(own?.leaf).toMatchObject({ issuer: 'ca1', notAfter: T0 + day });
  expect(instances[0]?.proofs).toEqual([]);
  expect(own?.writtenBy?.remark).toContain('the pod has 2 certificates of this Authority');
});

test('a pod with two certificates that is younger than the new CA has both from the new CA', () => {
  expect(held(2, instant(T0 + 2 * hour)).own?.leaf).toMatchObject({ issuer: 'ca2' });
});
