import { connect, deployments, type Kube, namespaces } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WorkloadCache } from './workload-cache.ts';

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  kube = connect(server.config, { signal: end.signal, rate: false });
});
afterEach(async () => {
  end.abort();
  await server.stop();
});

const deploy = async (namespace: string, name: string, image: string, readyReplicas: number) => {
  if ((await kube.get(namespaces, { name: namespace })) === undefined)
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
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
  await vi.waitFor(
    () => expect(cache.reloader(['handover-system', 'shop'])).toBe('handover-system/reloader'),
    30_000,
  );
});
