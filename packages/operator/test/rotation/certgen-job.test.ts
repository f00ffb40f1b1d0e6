// `handover certgen` as a real Job, with the ServiceAccount and the rights of docs/recipes/envoy-gateway.md, under load.
import { configMaps, pods as podKind, secrets } from '@handover/kube';
import { type NodeCluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accepts, CA, LEAVES, recipeObjects, upstreamSecrets } from '../cluster/certgen-stage.ts';
import { connectTo, until } from '../cluster/stage.ts';
import { GATEWAY, jobNamed, rateLimit, rateLimitBudget } from './gateway.ts';
import { Jobs } from './jobs.ts';
import { LONG } from './mesh-stage.ts';
import { bundlePod } from './stage.ts';
import { MOST_GAP } from './traffic.ts';

/** Seconds that its directions may be quiet: the only pod serves on for 5 s, has 20 s to end, and then another one starts. */
const ONE_AT_A_TIME_GAP = 90;
const STATE = 'handover-authority-a498f7c86fbc48a087f66abc';

let cluster: NodeCluster;
let jobs: Jobs;
const end = new AbortController();

beforeAll(async () => {
  // The kubelet of everyday life brings new files within 90 s; 90 s of delay on top, and all are there within the preset's 3 min.
  cluster = await startCluster({ size: 'node' });
  const image = await cluster.node.loadImage({
    name: 'localhost/mesh:1',
    files: { '/app': await bundlePod() },
    entrypoint: ['node', '/app/main.mjs'],
  });
  jobs = await Jobs.on(cluster, connectTo(cluster, end.signal), image);
}, LONG);
afterAll(async () => {
  end.abort();
  jobs?.stop();
  await cluster?.stop();
});

test('S3.1 the recipe’s Job makes the Secrets in an empty namespace, with the rights of the recipe', () =>
  jobs.makesSecrets());

test('the recipe’s CronJob finds nothing to do, with the rights of the recipe', async () => {
  await cluster.apply(...recipeObjects('CronJob'));
  await cluster.kubectl('create', 'job', '-n', GATEWAY, 'now', '--from=cronjob/certgen-hourly');
  const before = await jobs.seen.versions();
  expect(await jobs.done('now')).toMatchObject({ succeeded: 1 });
  expect(await cluster.kubectl('logs', '-n', GATEWAY, 'job/now')).toMatch(/^0 objects written\n.*: Stable/);
  expect(await jobs.seen.versions()).toEqual(before);
  await cluster.kubectl('delete', 'cronjob', '-n', GATEWAY, 'certgen-hourly');
});

test('S3.6 and S3.11 a Job whose pods are killed and stopped takes over Secrets without a kept CA key under load; no call fails', async () => {
  for (const name of [...LEAVES, STATE]) await jobs.kube.delete(secrets, { namespace: GATEWAY, name });
  await jobs.kube.delete(configMaps, { namespace: GATEWAY, name: `${CA}-trust` });
  await cluster.apply(...(await upstreamSecrets(GATEWAY)));
  await jobs.startParts();
  const before = await jobs.seen.certificates('envoy', 'tls.crt');
  const takeover = await jobs.underLoad('takeover by a Job', async () => {
    await cluster.apply(jobNamed(recipeObjects('Job')[0], 'takeover'));
    // Killed in the middle of its first writes.
    await until(
      async () => (await jobs.kube.get(secrets, { namespace: GATEWAY, name: STATE })) !== undefined,
      'state',
      LONG,
    );
    const first = await jobs.podOf('takeover');
    await jobs.kube.delete(
      podKind,
      { namespace: GATEWAY, name: first.metadata.name ?? '' },
      { gracePeriodSeconds: 0 },
    );
    // The next pod is stopped while it waits.
    const second = await jobs.podOf('takeover');
    await until(async () => (await jobs.seen.certificates('envoy', 'ca.crt')).length === 2, 'trust', LONG);
    const node = ['exec', '-n', GATEWAY, second.metadata.name ?? '', '--', 'node', '-e'];
    await until(
      async () => {
        // PID 1 of a container ignores signals without a handler.
        await cluster.kubectl(...node, "process.kill(1, 'SIGTERM')").catch(() => {});
        return ((await jobs.status('takeover')).failed ?? 0) >= 2;
      },
      'two failed pods',
      LONG,
    );
    expect(await jobs.done('takeover')).toMatchObject({ succeeded: 1 });
  });
  expect(takeover).toMatchObject({ failed: 0, reasons: [] });
  expect((await jobs.seen.state()).lastGeneration).toBe(1);
  expect((await jobs.seen.state()).generations.map(({ number, role }) => ({ number, role }))).toEqual([
    { number: 1, role: 'current' },
  ]);
  for (const name of LEAVES) expect(await jobs.seen.generations(name)).toEqual(['1']);
  expect(await jobs.seen.allAccept()).toBe(true);
  expect(accepts(await jobs.seen.certificates('envoy', 'ca.crt'), before)).toBe(false);
});

test('S3.6 the next Job is the next rotation; no call fails while old and new pods of Rate Limit overlap, and only they are restarted, once', () =>
  jobs.rotates());

test('S3.6 with a single pod of Rate Limit, maxSurge 0 and a PodDisruptionBudget no handshake fails; if it is ever away, then only while it restarts', async () => {
  // A rollout of its own, before anything is counted.
  await cluster.apply(rateLimit('one at a time', jobs.options), rateLimitBudget());
  await jobs.partsReady();
  const { generation } = await jobs.seen.template('envoy-ratelimit');
  let live = { most: 0, fewest: 0 };
  const rotation = async (): Promise<void> => {
    live = await jobs.rateLimitsDuring(() => jobs.run('single'));
  };
  const what = 'rotation by a Job, Rate Limit one at a time';
  const figures = await jobs.underLoad(what, rotation, ONE_AT_A_TIME_GAP);
  // The directions that the restart does not touch are never quiet.
  const others = Object.entries(figures.directions).filter(([name]) => !name.includes('envoy-ratelimit'));
  expect(others.filter(([, { gap }]) => gap > MOST_GAP)).toEqual([]);
  expect(live).toMatchObject({ most: 1 });
  // No TLS took part in these: there was no pod to connect to.
  const awayFrom = Object.entries(figures.directions).filter(([, { failed }]) => failed > 0);
  expect(awayFrom.every(([name]) => name.endsWith('→ envoy-ratelimit'))).toBe(true);
  for (const [name, { failed, unreached }] of awayFrom)
    expect({ name, failed }).toEqual({ name, failed: unreached });
  expect((await jobs.seen.template('envoy-ratelimit')).generation).toBe(generation + 1);
  for (const name of LEAVES) expect(await jobs.seen.generations(name)).toEqual(['3']);
});
