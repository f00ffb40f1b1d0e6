import { eventually } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConfigMap, configMaps, connect, Informer, type Kube, loadKubeConfig } from '../../src/index.ts';

let cluster: Cluster;
let kube: Kube;
const stop = new AbortController();
beforeAll(async () => {
  cluster = await startCluster();
  kube = connect(await loadKubeConfig({ kubeconfig: cluster.kubeconfig }), { signal: stop.signal });
});
afterAll(async () => {
  stop.abort();
  await cluster?.stop();
});

const ours = { namespace: 'default', name: 'ours' };

test('kubectl sees what we write, and who wrote it', async () => {
  await kube.patch(configMaps, ours, {
    apply: { metadata: { name: 'ours' }, data: { x: '1' } },
    fieldManager: 'handover',
  });
  const text = await cluster.kubectl('get', 'configmap', 'ours', '-o', 'json', '--show-managed-fields');
  const seen = JSON.parse(text) as ConfigMap;
  expect(seen.data).toEqual({ x: '1' });
  expect(seen.metadata.managedFields?.[0]).toMatchObject({ manager: 'handover', operation: 'Apply' });
  expect(await kube.get(configMaps, ours)).toEqual(seen);
});

test('we see what kubectl writes, deletes and labels, as it happens', async () => {
  const informer = new Informer(kube, configMaps, { namespace: 'default' });
  const seen: string[] = [];
  informer.on('changed', ({ key, before, after }) =>
    seen.push(
      `${key} ${before?.data?.x ?? '-'}→${after?.data?.x ?? '-'} ${after?.metadata.labels?.a ?? ''}`.trim(),
    ),
  );
  await informer.start(stop.signal).ready;
  await cluster.kubectl('create', 'configmap', 'theirs', '--from-literal=x=1');
  await cluster.kubectl('label', 'configmap', 'theirs', 'a=b');
  await cluster.kubectl('delete', 'configmap', 'theirs');
  await eventually(() => seen.filter((one) => one.startsWith('default/theirs')).length === 3);
  expect(seen.filter((one) => one.startsWith('default/theirs'))).toEqual([
    'default/theirs -→1',
    'default/theirs 1→1 b',
    'default/theirs 1→-',
  ]);
});

test('kubectl gets a conflict over our fields, and we over kubectl’s', async () => {
  const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ours, data: { x: '2' } };
  await expect(cluster.apply(manifest)).rejects.toThrow(/conflict/);
  await cluster.kubectl('patch', 'configmap', 'ours', '--type=merge', '-p', '{"data":{"x":"3"}}');
  const again = kube.patch(configMaps, ours, {
    apply: { metadata: { name: 'ours' }, data: { x: '1' } },
    fieldManager: 'handover',
  });
  await expect(again).rejects.toMatchObject({ code: 'KUBE_CONFLICT' });
});
