// trust-manager itself: a Bundle writes a ConfigMap into each namespace, and follows its source.
// Against: trust-manager in a pod on a real node, beside cert-manager.
import { makeCa, type NodeCluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import { startCertManager } from '../cert-manager/cert-manager.ts';
import { bundle, startTrustManager, TRUST_NAMESPACE } from './trust-manager.ts';

let cluster: NodeCluster;
let defaultCas: string;
const ca = (name: string): string => makeCa(cluster.directory, name, name).pem.trim();

beforeAll(async () => {
  cluster = await startCluster({ size: 'node' });
  defaultCas = ca('default');
  await startCertManager(cluster);
  await startTrustManager(cluster, defaultCas);
}, 1_800_000);
afterAll(() => cluster?.stop());

const source = (pem: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'source', namespace: TRUST_NAMESPACE },
  data: { 'ca.crt': pem },
});
const written = async (): Promise<string | undefined> => {
  const found = await cluster.kubectl('-n', 'default', 'get', 'configmaps', '-o', 'json');
  const { items } = JSON.parse(found) as {
    readonly items: readonly { metadata: { name: string }; data?: Record<string, string> }[];
  };
  return items.find(({ metadata }) => metadata.name === 'together')?.data?.['ca.crt'];
};

test('a Bundle of a ConfigMap and the default CAs reaches a namespace, and follows its source', async () => {
  const [first, second] = [ca('first'), ca('second')];
  await cluster.apply(
    source(first),
    bundle('together', {
      sources: [{ configMap: { name: 'source', key: 'ca.crt' } }, { useDefaultCAs: true }],
      target: { configMap: { key: 'ca.crt' } },
    }),
  );
  const before = await until(written, 'a ConfigMap of the Bundle');
  expect(before).toContain(first);
  expect(before).toContain(defaultCas);
  await cluster.apply(source(second));
  await until(async () => (await written())?.includes(second), 'the other CA');
  expect(await written()).not.toContain(first);
});
