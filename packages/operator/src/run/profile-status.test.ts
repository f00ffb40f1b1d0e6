import { MOST_NAMED, type TlsProfileResourceStatus } from '@handover/core';
import { localTlsSupport, type ProfileOutcome } from '@handover/engine';
import { HandoverError, instant, resolveTlsProfile } from '@handover/material';
import { expect, test } from 'vitest';
import type { Declared } from '../resources/declared.ts';
import { statusOfProfile } from './profile-status.ts';

const resolved = resolveTlsProfile({ type: 'Modern' }, localTlsSupport());
const declared = { generation: 1, status: {} } as unknown as Declared;

const REST: ProfileOutcome['plan'] = {
  actions: [],
  waiting: [],
  notes: [],
  unread: [],
  contended: [],
  wakeAt: undefined,
};
const statusOf = (more: Partial<ProfileOutcome>) =>
  statusOfProfile(
    declared,
    'shop-tls',
    { resolved, plan: REST, hash: resolved.hash, obstacle: undefined, ...more },
    instant(0),
  ) as TlsProfileResourceStatus;
const told = (more: Partial<ProfileOutcome>) => {
  const { conditions = [] } = statusOf(more);
  return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`).slice(0, 2);
};

test('a profile whose source cannot be read any more stays ready, and says why it may be old', () => {
  expect(told({})).toEqual(['Ready=True Written', 'Degraded=False Honored']);
  const forbidden = new HandoverError('TLS_PROFILE_SOURCE_FORBIDDEN', 'APIServer/cluster may not be read');
  expect(told({ stale: forbidden })).toEqual(['Ready=True Written', 'Degraded=True SourceForbidden']);
  expect(told({ resolved: forbidden })).toEqual([
    'Ready=False SourceForbidden',
    'Degraded=True SourceForbidden',
  ]);
});

const condition = (type: string, plan: Partial<ProfileOutcome['plan']>) =>
  statusOf({ plan: { ...REST, ...plan } }).conditions?.find((one) => one.type === type);

test('selected workloads that do not mount the ConfigMap are counted, the first of them named, and that is no fault', () => {
  expect(condition('NotMounted', {})).toMatchObject({
    status: 'False',
    reason: 'None',
    message: 'every selected workload mounts ConfigMap shop-tls',
  });
  expect(statusOf({})).not.toHaveProperty('notMounted');
  const unread = Array.from({ length: 120 }, (_, i) => `DaemonSet shop/net-${i}`);
  const { notMounted, conditions } = statusOf({ plan: { ...REST, unread } });
  expect(notMounted).toEqual({ count: 120, workloads: unread.slice(0, MOST_NAMED) });
  expect(conditions?.find(({ type }) => type === 'NotMounted')).toMatchObject({
    status: 'True',
    reason: 'NotRestarted',
    message: expect.stringMatching(
      /^DaemonSet shop\/net-0, .* and 117 more: selected, but without ConfigMap shop-tls/,
    ),
  });
  expect(told({ plan: { ...REST, unread } })).toEqual(told({}));
});

test('a workload whose stamp another program removes is Contended, by name and with what to do', () => {
  expect(condition('Contended', {})).toBeUndefined();
  const contended = [{ object: 'Deployment shop/web', message: 'another program removes it; stop it' }];
  expect(condition('Contended', { contended })).toMatchObject({
    status: 'True',
    reason: 'ForeignManager',
    message: 'Deployment shop/web: another program removes it; stop it',
  });
});
