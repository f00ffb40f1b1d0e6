// S0.8 with two builds of ours that differ: an older commit's `embed()` beside this one's, for five minutes, under calls of a real API server.
// Against: two builds of Handover; kube-apiserver.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configMaps, type Kube, leases } from '@handover/kube';
import { type EmbedSpec, embed, type Own } from '@handover/operator';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Backend, Balancer } from '../../../packages/operator/test/cluster/backend.ts';
import {
  API,
  FIELDS,
  GROUP_PATH,
  installPackaging,
  NAMESPACE,
} from '../../../packages/operator/test/cluster/packaging.ts';
import { isWrite, Relay } from '../../../packages/operator/test/cluster/relay.ts';
import { connectTo, until } from '../../../packages/operator/test/cluster/stage.ts';
import { ROOT } from '../../../packages/operator/test/rotation/image.ts';
import { olderEmbed } from '../../../packages/operator/test/rotation/older.ts';
import { bundleEmbed } from '../../../packages/operator/test/rotation/stage.ts';

const FIVE_MINUTES = 300_000;
const SPEC: EmbedSpec = {
  authority: { name: 'packaging' },
  leaf: { name: 'packaging-api', dnsNames: [`packaging-api.${NAMESPACE}.svc`] },
  inject: [
    { kind: 'APIService', name: API },
    { kind: 'ValidatingWebhookConfiguration', name: FIELDS.ValidatingWebhookConfiguration.name },
    { kind: 'MutatingWebhookConfiguration', name: FIELDS.MutatingWebhookConfiguration.name },
  ],
};

interface Replica {
  readonly own: Own;
  readonly backend: Backend;
  readonly port: number;
}

let cluster: Cluster;
let kube: Kube;
let relay: Relay;
let kubeconfig: string;
let older: typeof embed;
let olderFolder: string;
const balancer = new Balancer();
const end = new AbortController();
const replicas: Replica[] = [];

beforeAll(async () => {
  olderFolder = await olderEmbed((line) => process.stderr.write(`${line}\n`));
  ({ embed: older } = (await import(join(olderFolder, 'dist/embed.mjs'))) as { embed: typeof embed });
  cluster = await startCluster();
  kube = connectTo(cluster, end.signal);
  relay = await Relay.start(cluster);
  await installPackaging(cluster, await balancer.listen());
  kubeconfig = join(cluster.directory, 'relay.kubeconfig');
  writeFileSync(kubeconfig, relay.kubeconfig);
}, 900_000);
afterAll(async () => {
  end.abort();
  await Promise.all(replicas.map(({ own }) => own.ended));
  await Promise.all(replicas.map(({ backend }) => backend.close()));
  await balancer.close();
  await relay?.stop();
  await cluster?.stop();
});

/** A bundle without the path of the tree that it was made in, which stands above each of its modules. */
const programIn = (folder: string): string => {
  const text = readFileSync(join(folder, 'dist/embed.mjs'), 'utf8');
  const [, tree] = /^\/\/ (\S*\/older-tree-\w+\/)/m.exec(text) ?? [];
  return tree === undefined ? text : text.replaceAll(tree, '');
};

const start = async (identity: string, version: typeof embed): Promise<void> => {
  const own = await version(SPEC, { signal: end.signal, kubeconfig, identity, on: () => undefined });
  const backend = new Backend();
  own.identity.serve(backend.server);
  const port = await backend.listen();
  await own.ready;
  replicas.push({ own, backend, port });
  balancer.targets = replicas.map((replica) => replica.port);
};

/** Makes the other replica lead. */
const takeLease = (round: number): Promise<unknown> =>
  kube.patch(
    leases,
    { namespace: NAMESPACE, name: 'handover-packaging' },
    {
      merge: {
        spec: {
          holderIdentity: `thief-${round}`,
          leaseDurationSeconds: 1,
          renewTime: new Date().toISOString().replace('Z', '000Z'),
        },
      },
      fieldManager: 'thief',
    },
  );

const body = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { generateName: 'asks-', namespace: NAMESPACE, labels: { asks: 'the-webhook' } },
};
const hello = (): Promise<{ readonly body: string }> => kube.raw('GET', `${GROUP_PATH}/hello`);

test('S0.8 an older build and this one, each leading in turn for five minutes: at most 2 writes of each field, no failed call', async () => {
  const newerFolder = await bundleEmbed(join(ROOT, 'packages/operator'), cluster.directory);
  expect(programIn(olderFolder) === programIn(newerFolder)).toBe(false);
  await start('older', older);
  await start('newer', embed);
  await until(
    () =>
      hello().then(
        ({ body: text }) => text.includes('world'),
        () => false,
      ),
    'the aggregated API',
  );
  for (const { backend } of replicas) backend.broken = [];
  const failures: string[] = [];
  const calls = { api: 0, webhook: 0 };
  let going = true;
  const worker = async (what: keyof typeof calls, turn: () => Promise<unknown>): Promise<void> => {
    while (going) {
      calls[what]++;
      await turn().catch((error: Error) => failures.push(error.message));
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  };
  const workers = [
    worker('api', hello),
    worker('webhook', () => kube.create(configMaps, body, { namespace: NAMESPACE, dryRun: true })),
  ];
  const handshakes = (): number => replicas.reduce((sum, { backend }) => sum + backend.handshakes, 0);
  const led = new Set<string>();
  const began = performance.now();
  for (let round = 1; performance.now() - began < FIVE_MINUTES || handshakes() < 1_000; round++) {
    await takeLease(round);
    const holder = await until(async () => {
      const lease = await kube.get(leases, { namespace: NAMESPACE, name: 'handover-packaging' });
      const { holderIdentity = '' } = (lease?.spec ?? {}) as { readonly holderIdentity?: string };
      return /^(older|newer)/.exec(holderIdentity)?.[0];
    }, 'one of them to lead');
    led.add(holder);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
  }
  going = false;
  await Promise.all(workers);
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `${seconds} s, ${calls.api} API requests, ${calls.webhook} admissions, ${handshakes()} handshakes, ${failures.length} failed; led: ${[...led].join(', ')}`,
  );
  expect(failures.slice(0, 5)).toEqual([]);
  expect(replicas.flatMap(({ backend }) => backend.broken)).toEqual([]);
  for (const made of Object.values(calls)) expect(made / seconds).toBeGreaterThan(1);
  for (const { backend } of replicas) expect(backend.handshakes).toBeGreaterThan(100);
  expect([...led].sort()).toEqual(['newer', 'older']);
  for (const kind of ['apiservices', 'validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
    const writes = relay.log.filter(
      (passed) => isWrite(passed) && passed.status !== 409 && passed.path.includes(`/${kind}/`),
    );
    expect(writes.length).toBeLessThanOrEqual(2);
  }
  const [one, two] = replicas.map(({ own }) => own.identity.hash);
  expect(one).toBe(two);
}, 1_200_000);
