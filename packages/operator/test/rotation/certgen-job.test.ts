// `handover certgen` as a real Job, with the ServiceAccount and the rights of docs/recipes/envoy-gateway.md, under load.
import { readFileSync } from 'node:fs';
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
  resourcesFile,
  Seen,
  upstreamSecrets,
  webhook,
} from '../cluster/certgen-stage.ts';
import { connectTo, until } from '../cluster/stage.ts';
import { Collector } from './collector.ts';
import { GATEWAY, gateway, jobWithFile, PARTS } from './gateway.ts';
import { operatorImage } from './image.ts';
import { bundlePod } from './stage.ts';

/** 4 pods, 13 calls a second each: S3.6's 50 a second. */
const RATE = 13;
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
  // A kubelet that brings new files within 15 s: with a delay of 90 s on top all are there within the 2 min of `reloadWithin`.
  cluster = await startCluster({ size: 'node', kubelet: { syncFrequency: '10s' } });
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

/** Prints what the parts did meanwhile. */
const during = async (
  what: string,
  work: () => Promise<unknown>,
): Promise<{ failed: number; handshakes: number }> => {
  const [before, from] = [collector.totals(), performance.now()];
  await work();
  await pause(3_000); // wait for the last reports
  const after = collector.totals();
  const seconds = (performance.now() - from) / 1000;
  const handshakes = after.handshakes - before.handshakes;
  const failed = after.failed - before.failed;
  say(
    `${what}: ${handshakes} handshakes in ${seconds.toFixed(0)} s (${(handshakes / seconds).toFixed(0)}/s), ${failed} failed, load ${loadavg()[0]?.toFixed(0)}`,
  );
  for (const failure of after.failures.slice(before.failures.length).slice(0, 10))
    say(`  ${JSON.stringify(failure)}`);
  return { failed, handshakes };
};
const isHeardByAll = async (): Promise<boolean> => {
  const { directions } = collector.totals();
  return (
    directions.size === PARTS.length * (PARTS.length - 1) &&
    [...directions.values()].every(({ ok }) => ok > 0)
  );
};
const isReady = async (): Promise<boolean> => {
  const { items } = await kube.list(podKind, { namespace: GATEWAY, labelSelector: 'app' });
  const ready = items.filter(({ status }) =>
    (status as { conditions?: readonly { type: string; status: string }[] }).conditions?.some(
      (condition) => condition.type === 'Ready' && condition.status === 'True',
    ),
  );
  return items.length === PARTS.length && ready.length === PARTS.length;
};

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

test('S3.6 and S3.11: a Job whose pods are killed and stopped takes over Secrets without a kept CA key under load; no call fails', async () => {
  for (const name of [...LEAVES, STATE]) await kube.delete(secrets, { namespace: GATEWAY, name });
  await kube.delete(configMaps, { namespace: GATEWAY, name: `${CA}-trust` });
  const file = readFileSync(resourcesFile(GATEWAY, { reloadWithin: '2m' }), 'utf8');
  await cluster.apply(...(await upstreamSecrets(GATEWAY)), ...gateway(image, collectorUrl, RATE), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'certgen', namespace: GATEWAY },
    data: { 'gateway.yaml': file },
  });
  await until(isReady, 'every part to be ready', LONG);
  collector.go();
  // A Service has no endpoint for a moment after its first pod is ready.
  await until(isHeardByAll, 'a call that got through in every direction', LONG);
  const atRest = await during('at rest', () => pause(5_000));
  expect(atRest).toMatchObject({ failed: 0 });
  expect(atRest.handshakes).toBeGreaterThan(100);
  const before = await seen.certificates('envoy', 'tls.crt');
  const { failed } = await during('takeover by a Job', async () => {
    const [job] = recipeObjects('Job');
    await cluster.apply(jobWithFile(job ?? {}, 'takeover'));
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
    const told = [
      'exec',
      '-n',
      GATEWAY,
      second.metadata.name ?? '',
      '--',
      'node',
      '-e',
      "process.kill(1, 'SIGTERM')",
    ];
    await until(
      async () => {
        // PID 1 of a container ignores signals without a handler.
        await cluster.kubectl(...told).catch(() => {});
        return ((await jobStatus('takeover')).failed ?? 0) >= 2;
      },
      'two failed pods',
      LONG,
    );
    expect(await done('takeover')).toMatchObject({ succeeded: 1 });
  });
  expect(failed).toBe(0);
  expect((await seen.state()).lastGeneration).toBe(1);
  expect((await seen.state()).generations.map(({ number, role }) => ({ number, role }))).toEqual([
    { number: 1, role: 'current' },
  ]);
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['1']);
  expect(await seen.allAccept()).toBe(true);
  expect(accepts(await seen.certificates('envoy', 'ca.crt'), before)).toBe(false);
});

test('S3.6 the next Job is the next rotation; no call fails, and only Rate Limit is restarted, once', async () => {
  const templates = await Promise.all(PARTS.map(({ name }) => seen.template(name)));
  const { failed } = await during('rotation by a Job', async () => {
    const [job] = recipeObjects('Job');
    await cluster.apply(jobWithFile(job ?? {}, 'rotation'));
    expect(await done('rotation')).toEqual(expect.objectContaining({ succeeded: 1 }));
  });
  expect(failed).toBe(0);
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['2']);
  const after = await Promise.all(PARTS.map(({ name }) => seen.template(name)));
  expect(after.map(({ generation }, index) => generation - (templates[index]?.generation ?? 0))).toEqual([
    0, 0, 0, 1,
  ]);
  expect(await cluster.kubectl('logs', '-n', GATEWAY, 'job/rotation')).toContain(`${GATEWAY}/${CA}: Stable`);
});
