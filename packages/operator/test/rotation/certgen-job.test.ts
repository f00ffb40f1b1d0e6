// `handover certgen` as a real Job, with the ServiceAccount and the rights of docs/recipes/envoy-gateway.md, under load.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { configMaps, type Kube, type KubeObject, pods as podKind, secrets } from '@handover/kube';
import { type NodeCluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  accepts,
  CA,
  LEAVES,
  recipeObjects,
  Seen,
  upstreamSecrets,
  webhook,
} from '../cluster/certgen-stage.ts';
import { connectTo, until } from '../cluster/stage.ts';
import { Collector } from './collector.ts';
import {
  DIRECTIONS,
  GATEWAY,
  type GatewayOptions,
  gateway,
  jobNamed,
  PARTS,
  rateLimit,
  rateLimitBudget,
} from './gateway.ts';
import { operatorImage } from './image.ts';
import { bundlePod } from './stage.ts';
import { allHeard, during, type Figures, row, tooQuiet } from './traffic.ts';

/** Of each of 4 pods, so that S3.6's 50 a second are reached on a busy machine too. */
const RATE = 18;
const LEAST = { each: 1, inAll: 50 };
const LONG = 900_000;
const STATE = 'handover-authority-a498f7c86fbc48a087f66abc';
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let cluster: NodeCluster;
let kube: Kube;
let seen: Seen;
let collector: Collector;
let collectorUrl: string;
let image: string;
const server = createServer();
const end = new AbortController();

beforeAll(async () => {
  // The kubelet of everyday life brings new files within 90 s; 90 s of delay on top, and all are there within the preset's 3 min.
  cluster = await startCluster({ size: 'node' });
  kube = connectTo(cluster, end.signal);
  seen = new Seen(kube, GATEWAY);
  collector = new Collector(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await cluster.node.expose(port);
  collectorUrl = `http://${cluster.node.address}:${port}/`;
  image = await cluster.node.loadImage({
    name: 'localhost/mesh:1',
    files: { '/app': await bundlePod() },
    entrypoint: ['node', '/app/main.mjs'],
  });
  await cluster.node.loadImage(await operatorImage('localhost/handover:1'));
  await cluster.kubectl('create', 'namespace', GATEWAY);
  await cluster.apply(...recipeObjects('ServiceAccount'), webhook(GATEWAY));
}, LONG);
afterAll(async () => {
  end.abort();
  server.closeAllConnections();
  server.close();
  await cluster?.stop();
});

interface JobStatus {
  readonly succeeded?: number;
  readonly failed?: number;
}
const jobStatus = async (name: string): Promise<JobStatus> =>
  JSON.parse(
    await cluster.kubectl('get', 'job', name, '-n', GATEWAY, '-o', 'jsonpath={.status}'),
  ) as JobStatus;
const done = (name: string): Promise<JobStatus> =>
  until(
    async () => {
      const status = await jobStatus(name);
      return status.succeeded === 1 && status;
    },
    `Job ${name}`,
    LONG,
  ).catch(async (error: unknown) => {
    say(await cluster.kubectl('logs', '-n', GATEWAY, `job/${name}`, '--all-pods', '--tail=20').catch(String));
    throw error;
  });
/** The pod of a Job that runs now. */
const podOf = (job: string): Promise<KubeObject> =>
  until(
    async () => {
      const { items } = await kube.list(podKind, {
        namespace: GATEWAY,
        labelSelector: `batch.kubernetes.io/job-name=${job}`,
      });
      return items.find(
        ({ metadata, status }) =>
          metadata.deletionTimestamp === undefined && (status as { phase?: string }).phase === 'Running',
      );
    },
    `a pod of Job ${job}`,
    LONG,
  );

/** Prints what the parts did meanwhile. All of it was under load, in every direction. */
const underLoad = async (what: string, work: () => Promise<unknown>): Promise<Figures> => {
  const figures = await during(collector, DIRECTIONS, work);
  say(`${row(what, figures)} load ${loadavg()[0]?.toFixed(0)}`);
  for (const reason of figures.reasons.slice(0, 10)) say(`  ${reason}`);
  expect(Object.keys(figures.directions).sort()).toEqual([...DIRECTIONS].sort());
  expect(tooQuiet(figures, LEAST)).toEqual([]);
  return figures;
};
const options = (): GatewayOptions => ({ image, collector: collectorUrl, rate: RATE });
/** Runs the recipe's Job, with the preset as it is shipped, to its end. */
const runJob = async (name: string): Promise<void> => {
  await cluster.apply(jobNamed(recipeObjects('Job')[0], name));
  expect(await done(name)).toMatchObject({ succeeded: 1 });
};
const pods = async (): Promise<readonly KubeObject[]> =>
  (await kube.list(podKind, { namespace: GATEWAY, labelSelector: 'app' })).items;
const readyPods = async (): Promise<readonly KubeObject[]> =>
  (await pods()).filter(({ status }) =>
    (status as { conditions?: readonly { type: string; status: string }[] }).conditions?.some(
      (condition) => condition.type === 'Ready' && condition.status === 'True',
    ),
  );
const isReady = async (): Promise<boolean> =>
  (await pods()).length === PARTS.length && (await readyPods()).length === PARTS.length;

test('S3.1 the recipe’s Job makes the Secrets in an empty namespace, with the rights of the recipe', async () => {
  await cluster.apply(...recipeObjects('Job'));
  expect(await done('certgen')).toMatchObject({ succeeded: 1 });
  expect(await cluster.kubectl('logs', '-n', GATEWAY, 'job/certgen')).toMatch(
    // The issuance log stands before it.
    /^6 objects written\n.*: Stable/m,
  );
  expect(await seen.allAccept()).toBe(true);
  expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
  // Its name is the Job's own uid.
  const uid = await cluster.kubectl('get', 'job', 'certgen', '-n', GATEWAY, '-o', 'jsonpath={.metadata.uid}');
  expect((await seen.state()).ids).toEqual([uid]);
});

test('the recipe’s CronJob finds nothing to do, with the rights of the recipe', async () => {
  await cluster.apply(...recipeObjects('CronJob'));
  await cluster.kubectl('create', 'job', '-n', GATEWAY, 'now', '--from=cronjob/certgen-hourly');
  const before = await seen.versions();
  expect(await done('now')).toMatchObject({ succeeded: 1 });
  expect(await cluster.kubectl('logs', '-n', GATEWAY, 'job/now')).toMatch(/^0 objects written\n.*: Stable/);
  expect(await seen.versions()).toEqual(before);
  await cluster.kubectl('delete', 'cronjob', '-n', GATEWAY, 'certgen-hourly');
});

test('S3.6 and S3.11 a Job whose pods are killed and stopped takes over Secrets without a kept CA key under load; no call fails', async () => {
  for (const name of [...LEAVES, STATE]) await kube.delete(secrets, { namespace: GATEWAY, name });
  await kube.delete(configMaps, { namespace: GATEWAY, name: `${CA}-trust` });
  await cluster.apply(...(await upstreamSecrets(GATEWAY)), ...gateway(options()));
  await until(isReady, 'every part to be ready', LONG);
  collector.go();
  // A Service has no endpoint for a moment after its first pod is ready.
  await until(
    async () => allHeard(collector, DIRECTIONS),
    'a call that got through in every direction',
    LONG,
  );
  expect(await underLoad('at rest', () => pause(10_000))).toMatchObject({ failed: 0 });
  const before = await seen.certificates('envoy', 'tls.crt');
  const takeover = await underLoad('takeover by a Job', async () => {
    await cluster.apply(jobNamed(recipeObjects('Job')[0], 'takeover'));
    // Killed in the middle of its first writes.
    await until(
      async () => (await kube.get(secrets, { namespace: GATEWAY, name: STATE })) !== undefined,
      'state',
      LONG,
    );
    const first = await podOf('takeover');
    await kube.delete(
      podKind,
      { namespace: GATEWAY, name: first.metadata.name ?? '' },
      { gracePeriodSeconds: 0 },
    );
    // The next pod is stopped while it waits.
    const second = await podOf('takeover');
    await until(async () => (await seen.certificates('envoy', 'ca.crt')).length === 2, 'trust', LONG);
    const node = ['exec', '-n', GATEWAY, second.metadata.name ?? '', '--', 'node', '-e'];
    await until(
      async () => {
        // PID 1 of a container ignores signals without a handler.
        await cluster.kubectl(...node, "process.kill(1, 'SIGTERM')").catch(() => {});
        return ((await jobStatus('takeover')).failed ?? 0) >= 2;
      },
      'two failed pods',
      LONG,
    );
    expect(await done('takeover')).toMatchObject({ succeeded: 1 });
  });
  expect(takeover).toMatchObject({ failed: 0, reasons: [] });
  expect((await seen.state()).lastGeneration).toBe(1);
  expect((await seen.state()).generations.map(({ number, role }) => ({ number, role }))).toEqual([
    { number: 1, role: 'current' },
  ]);
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['1']);
  expect(await seen.allAccept()).toBe(true);
  expect(accepts(await seen.certificates('envoy', 'ca.crt'), before)).toBe(false);
});

/** How many pods of Rate Limit are ready now and not about to end, old and new. */
const readyRateLimits = async (): Promise<number> =>
  (await readyPods()).filter(
    ({ metadata }) => metadata.labels?.app === 'envoy-ratelimit' && metadata.deletionTimestamp === undefined,
  ).length;
/** The most and the fewest of them while `work` ran. */
const rateLimitsDuring = async (
  work: () => Promise<unknown>,
): Promise<{ readonly most: number; readonly fewest: number }> => {
  const counts: number[] = [];
  let ended = false;
  const watching = (async () => {
    while (!ended) {
      counts.push(await readyRateLimits());
      await pause(500);
    }
  })();
  try {
    await work();
  } finally {
    ended = true;
    await watching;
  }
  return { most: Math.max(...counts), fewest: Math.min(...counts) };
};

test('S3.6 the next Job is the next rotation; no call fails while old and new pods of Rate Limit overlap, and only they are restarted, once', async () => {
  const templates = await Promise.all(PARTS.map(({ name }) => seen.template(name)));
  let live = { most: 0, fewest: 0 };
  const figures = await underLoad('rotation by a Job, Rate Limit overlapping', async () => {
    live = await rateLimitsDuring(() => runJob('rotation'));
  });
  expect(figures).toMatchObject({ failed: 0, reasons: [] });
  expect(live).toEqual({ most: 2, fewest: 1 });
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['2']);
  const after = await Promise.all(PARTS.map(({ name }) => seen.template(name)));
  expect(after.map(({ generation }, index) => generation - (templates[index]?.generation ?? 0))).toEqual([
    0, 0, 0, 1,
  ]);
  expect(await cluster.kubectl('logs', '-n', GATEWAY, 'job/rotation')).toContain(`${GATEWAY}/${CA}: Stable`);
});

test('S3.6 with a single pod of Rate Limit, maxSurge 0 and a PodDisruptionBudget no handshake fails; if it is ever away, then only while it restarts', async () => {
  // A rollout of its own, before anything is counted.
  await cluster.apply(rateLimit('one at a time', options()), rateLimitBudget());
  await until(isReady, 'every part to be ready', LONG);
  const { generation } = await seen.template('envoy-ratelimit');
  let live = { most: 0, fewest: 0 };
  const figures = await underLoad('rotation by a Job, Rate Limit one at a time', async () => {
    live = await rateLimitsDuring(() => runJob('single'));
  });
  expect(live).toMatchObject({ most: 1 });
  // No TLS took part in these: there was no pod to connect to.
  const awayFrom = Object.entries(figures.directions).filter(([, { failed }]) => failed > 0);
  expect(awayFrom.every(([name]) => name.endsWith('→ envoy-ratelimit'))).toBe(true);
  for (const [name, { failed, unreached }] of awayFrom)
    expect({ name, failed }).toEqual({ name, failed: unreached });
  expect((await seen.template('envoy-ratelimit')).generation).toBe(generation + 1);
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['3']);
});
