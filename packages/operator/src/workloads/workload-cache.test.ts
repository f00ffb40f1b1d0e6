import { deployments, type Kube, pods } from '@handover/kube';
import { apiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { Budget } from '../cache/budget.ts';
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

const pod = (namespace: string, index: number) =>
  kube.create(pods, {
    metadata: { namespace, name: `p${index}` },
    spec: {
      containers: [{ name: 'main', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      volumes: [{ name: 'v', secret: { secretName: `s${index}` } }],
    },
  });

test('pods that a namespace has beyond its share count as one that reads everything there, and no other namespace notices', async () => {
  for (let index = 0; index < 20; index++) await pod('evil', index);
  await pod('handover-system', 1);
  const budget = new Budget({ whole: 1_024 * 1_024, share: 16_384 });
  const told: string[] = [];
  const onPod = (_: unknown, after: { readonly name: string } | undefined) => told.push(after?.name ?? '');
  const cache = new WorkloadCache({ kube, budget, onPod, onWorkload: () => {} });
  cache.start(end.signal);
  await cache.ready;
  const unknown = 'pods that the operator has no room for';
  for (const all of [cache.pods(), await cache.freshPods(['evil', 'handover-system'])]) {
    expect(all.length).toBeLessThan(18);
    expect(all.filter(({ namespace }) => namespace === 'handover-system').map(({ name }) => name)).toEqual([
      'p1',
    ]);
    const [found] = all.filter(({ name }) => name === unknown);
    expect(found).toMatchObject({ namespace: 'evil', ended: false, completes: false, annotations: {} });
    expect(found?.references.map(({ plural, keys }) => [plural, keys])).toEqual([
      ['secrets', undefined],
      ['configmaps', undefined],
      ['clustertrustbundles', undefined],
    ]);
  }
  expect(told.filter((name) => name === unknown)).toHaveLength(1);
});
