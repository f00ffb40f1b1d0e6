import { deployments, type Kube } from '@handover/kube';
import { apiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { WorkloadCache } from './workload-cache.ts';

let clock: TestClock;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ kube, clock, stop: end } = await apiServer({ namespaces: ['evil', 'handover-system'] }));
});

const deploy = async (namespace: string, name: string, image: string, readyReplicas: number) => {
  await kube.create(
    deployments,
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace, name },
      spec: { template: { spec: { containers: [{ name, image }] } } },
    },
    { namespace },
  );
  await kube.patch(
    deployments,
    { namespace, name, subresource: 'status' },
    { merge: { status: { readyReplicas } }, fieldManager: 'test' },
  );
};
const RELOADER = 'ghcr.io/stakater/reloader:v1.4.2';

test('Stakater’s Reloader counts in the namespaces that are asked for, and in no other', async () => {
  await deploy('evil', 'reloader', RELOADER, 1);
  await deploy('handover-system', 'reloader-to-be', RELOADER, 0);
  await deploy('handover-system', 'web', 'example.com/web:1', 1);
  const cache = new WorkloadCache({ kube, onPod: () => {}, onWorkload: () => {} });
  cache.start(end.signal);
  await cache.ready;
  expect(cache.reloader(['handover-system', 'shop'])).toBeUndefined();
  expect(cache.reloader([])).toBeUndefined();
  expect(cache.reloader(['shop', 'evil'])).toBe('evil/reloader');
  await deploy('handover-system', 'reloader', RELOADER, 1);
  await clock.advance(0);
  expect(cache.reloader(['handover-system', 'shop'])).toBe('handover-system/reloader');
});
