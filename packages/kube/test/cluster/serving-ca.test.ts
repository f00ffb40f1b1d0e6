import { eventually } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ConfigMap,
  configMaps,
  connect,
  Informer,
  loadKubeConfig,
  namespaces,
  objectKeyOf,
} from '../../src/index.ts';

const namespace = 'rotated';
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

test.each([false, true])(
  'an informer continues through a new CA of the API server, the old one kept: %s',
  { timeout: 300_000 },
  async (keepOld) => {
    const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
    const stop = new AbortController();
    const kube = connect(config, { signal: stop.signal, rate: false });
    const put = (name: string, value: string) =>
      kube.patch(
        configMaps,
        { namespace, name },
        { apply: { metadata: { name }, data: { value } }, fieldManager: 'test', force: true },
      );
    await kube.patch(
      namespaces,
      { name: namespace },
      { apply: { metadata: { name: namespace } }, fieldManager: 'test' },
    );
    for (let n = 0; n < 20; n++) await put(`a${n}`, 'before');
    const informer = new Informer<ConfigMap, string>(kube, configMaps, {
      namespace,
      project: ({ data }) => data?.value,
    });
    const seen: string[] = [];
    informer.on('changed', ({ key, after }) => seen.push(`${key} ${after}`));
    await informer.start(stop.signal).ready;
    const { pid } = process;

    // Writes until the last moment, so that some changes are still on their way when the server stops.
    const early = Promise.allSettled(Array.from({ length: 20 }, (_, n) => put(`a${n}`, `during-${keepOld}`)));
    const rotating = cluster.apiServer.rotateServingCa({ keepOld });
    await early;
    await rotating;
    const back = performance.now();
    for (let n = 0; n < 20; n++) await put(`b${n}`, `after-${keepOld}`);
    const { items } = await kube.list(configMaps, { namespace });
    const want = items.map((item) => `${objectKeyOf(item)} ${item.data?.value}`).sort();
    await eventually(
      () => informer.keys().length === items.length && want.every((one) => seen.includes(one)),
    );
    const took = performance.now() - back;
    process.stdout.write(
      `keepOld ${keepOld}: 20 writes after the server was back were all seen ${took.toFixed(0)} ms after it\n`,
    );
    expect(
      informer
        .keys()
        .map((key) => `${key} ${informer.get(key)}`)
        .sort(),
    ).toEqual(want);
    expect(process.pid).toBe(pid);
    stop.abort();
  },
);
