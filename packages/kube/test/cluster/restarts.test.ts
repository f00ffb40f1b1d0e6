import { readdirSync, readlinkSync } from 'node:fs';
import { eventually } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  configMaps,
  connect,
  Informer,
  type Kube,
  type KubeObject,
  loadKubeConfig,
  namespaces,
  objectKeyOf,
  type ResourceKind,
  secrets,
} from '../../src/index.ts';
import { Writer } from '../writer.ts';

const OBJECTS = 1_000;
const namespace = 'restarts';
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

const socketsOpen = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;

const versionOf = ({ metadata }: KubeObject) => metadata.resourceVersion;

async function fill(kube: Kube): Promise<void> {
  await kube.create(namespaces, { metadata: { name: namespace } });
  const one = async (n: number) => {
    const metadata = { name: `o${n}`, namespace, labels: { in: 'test', part: n % 3 === 0 ? 'x' : 'y' } };
    await kube.create(configMaps, { metadata, data: { value: String(n) } });
    await kube.create(secrets, { metadata, stringData: { value: String(n) } });
  };
  for (let n = 0; n < OBJECTS / 2; n += 20)
    await Promise.all(Array.from({ length: 20 }, (_, i) => one(n + i)));
}

test('stores equal the lists after each of 10 crashes of the API server under writes', {
  timeout: 900_000,
}, async () => {
  const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
  const stop = new AbortController();
  const writes = connect(config, { signal: stop.signal, rate: false });
  await fill(writes);
  const before = socketsOpen();
  const kube = connect(config, { signal: stop.signal, rate: false });
  const project = versionOf;
  const specs: readonly {
    kind: ResourceKind;
    labelSelector?: string;
    metadataOnly?: boolean;
    lists?: 'stream' | 'pages';
  }[] = [
    { kind: configMaps },
    { kind: secrets, metadataOnly: true },
    { kind: secrets, lists: 'pages' },
    { kind: configMaps, labelSelector: 'part=x' },
    { kind: configMaps, labelSelector: 'part!=x', metadataOnly: true, lists: 'pages' },
  ];
  const informers = specs.map(({ kind, ...more }) => {
    const informer = new Informer<KubeObject, string | undefined>(kube, kind, {
      namespace,
      project,
      ...more,
    });
    return { kind, more, informer: informer.start(stop.signal) };
  });
  await Promise.all(informers.map(({ informer }) => informer.ready));

  const compare = async () => {
    for (const { kind, more, informer } of informers) {
      const { items } = await kube.list(kind, { namespace, labelSelector: more.labelSelector });
      const want = Object.fromEntries(items.map((item) => [objectKeyOf(item), versionOf(item)]));
      const have = () => Object.fromEntries(informer.keys().map((key) => [key, informer.get(key)]));
      await eventually(
        () => JSON.stringify(Object.entries(have()).sort()) === JSON.stringify(Object.entries(want).sort()),
        60_000,
      );
      expect(have()).toEqual(want);
    }
  };
  const writer = new Writer(writes, namespace, OBJECTS / 2);
  const open: number[] = [];
  for (let crash = 1; crash <= 10; crash++) {
    writer.start();
    const target = writer.done + 40;
    await eventually(() => writer.done >= target, 60_000);
    await cluster.apiServer.stop('SIGKILL');
    await cluster.apiServer.start();
    const more = writer.done + 40;
    await eventually(() => writer.done >= more, 60_000);
    await writer.pause();
    await compare();
    open.push(kube.connections);
  }
  const lists = informers.map(({ informer }) => informer.state.lists);
  process.stdout.write(
    `10 crashes, ${writer.done} writes, connections after each: ${open}, lists per informer: ${lists}\n`,
  );
  // Five watches, and the few connections that lists and comparisons share.
  expect(Math.max(...open)).toBeLessThanOrEqual(5 + 6);
  expect(open.at(-1)).toBeLessThanOrEqual((open[0] ?? 0) + 1);
  for (const { informer } of informers) informer.stop();
  stop.abort();
  await eventually(() => socketsOpen() <= before);
});
