import { deployments, type Kube } from '@handover/kube';
import { instant } from '@handover/material';
import { apiServer, type FakeApiServer } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { KubeRollouts } from './rollouts.ts';
import { workloadOf } from './workload.ts';
import type { WorkloadCache } from './workload-cache.ts';

let server: FakeApiServer;
let kube: Kube;
let rollouts: KubeRollouts;
let version = '';
const place = { namespace: 'default', name: 'web' };
const CONSUMER = 'Deployment default/web';
const stamp = { trust: 2, distrusts: 0 };

beforeEach(async () => {
  const cluster = await apiServer();
  ({ server, kube } = cluster);
  const metadata = { ...place };
  const template = { metadata: { annotations: { 'example.com/keep': 'me' } } };
  const made = await kube.create(deployments, { metadata, spec: { template } }, { namespace: 'default' });
  version = made.metadata.resourceVersion ?? '';
  // What a watch that is behind still shows.
  const behind = workloadOf('Deployment', made);
  const workloadCache = { workload: () => behind } as unknown as WorkloadCache;
  rollouts = new KubeRollouts(kube, workloadCache, () => cluster.clock.now(), cluster.stop.signal);
});

const annotations = async (): Promise<unknown> => {
  const found = await kube.get(deployments, place);
  const spec = found?.spec as { template: { metadata: { annotations: unknown } } } | undefined;
  return spec?.template.metadata.annotations;
};

test('a stamped workload counts as rolling until the watch shows its next version', async () => {
  expect(rollouts.isUnderWay(CONSUMER, version)).toBe(false);
  await rollouts.stamp(CONSUMER, version, stamp, 'default/mesh');
  expect(await annotations()).toEqual({
    'example.com/keep': 'me',
    'handover.dev/trust-hash': 'default/mesh=2.0',
    'kubectl.kubernetes.io/restartedAt': '2030-01-01T00:00:00.000Z',
  });
  expect(rollouts.isUnderWay(CONSUMER, version)).toBe(true);
  expect(rollouts.isUnderWay(CONSUMER, `${version}0`)).toBe(false);
  expect(rollouts.isUnderWay(CONSUMER, version)).toBe(false);
});

test('a stamp on a workload that has changed meanwhile is refused', async () => {
  await rollouts.stamp(CONSUMER, version, stamp, 'default/mesh');
  await expect(rollouts.stamp(CONSUMER, version, { trust: 3, distrusts: 0 }, 'default/mesh')).rejects.toThrow(
    'changed meanwhile',
  );
  expect(await annotations()).toMatchObject({ 'handover.dev/trust-hash': 'default/mesh=2.0' });
});

test('a profile’s stamp that was refused is none that another program removed; one that was written and is gone is', async () => {
  const at = (shown: string) => workloadOf('Deployment', { metadata: { ...place, resourceVersion: shown } });
  server.faults.add({ status: 403, reason: 'Forbidden', message: 'no' });
  await expect(rollouts.stampProfile(CONSUMER, version, 'new')).rejects.toThrow();
  expect(rollouts.undone(CONSUMER, at(`${version}0`))).toBeUndefined();
  await rollouts.stampProfile(CONSUMER, version, 'new');
  expect(await annotations()).toMatchObject({ 'handover.dev/tls-profile-hash': 'new' });
  expect(rollouts.undone(CONSUMER, at(version))).toBeUndefined();
  expect(rollouts.undone(CONSUMER, at(`${version}0`))).toMatchObject({ hash: 'new', times: 1 });
});

test.each([
  [403, 'Forbidden'],
  [422, 'Invalid'],
  [400, 'BadRequest'],
])('a stamp that is refused with %i is an obstacle, and tried again later', async (status, reason) => {
  server.faults.add({ status, reason, message: 'no' });
  await expect(rollouts.stamp(CONSUMER, version, stamp, 'default/mesh')).rejects.toThrow();
  const now = instant(Date.UTC(2030, 0, 1));
  expect(rollouts.obstacles.why(CONSUMER, now)).toContain('the API server refused to restart it');
  expect(rollouts.obstacles.why(CONSUMER, instant(now + 5_000))).toBeUndefined();
  expect(rollouts.isUnderWay(CONSUMER, version)).toBe(false);
});
