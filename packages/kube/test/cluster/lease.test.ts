import { codeOf, eventually } from '@handover/test-api-server';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMaps, connect, type LeaderLease, lead, leases, loadKubeConfig } from '../../src/index.ts';

let cluster: Cluster;
const stop = new AbortController();
beforeAll(async () => {
  cluster = await startCluster({ audit: 'Metadata' });
});
afterAll(async () => {
  stop.abort();
  await cluster?.stop();
});

const candidate = async (identity: string) => {
  const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
  const kube = connect(config, { signal: stop.signal, userAgent: identity, rate: false });
  const lease = lead(kube, {
    namespace: 'default',
    name: 'leader',
    identity,
    duration: 6_000,
    signal: stop.signal,
  });
  return { kube, lease, fenced: kube.fenced(lease) };
};
const gained = (lease: LeaderLease) =>
  new Promise<number>((resolve) => lease.on('gained', () => resolve(performance.now())));
const thing = (name: string) => ({ metadata: { name, namespace: 'default' } });
const writesOf = (identity: string) =>
  cluster
    .audit()
    .filter(
      ({ verb, userAgent, requestURI }) =>
        verb === 'create' && userAgent === identity && requestURI.includes('configmaps'),
    );

test('a released lease is taken over, and the former leader writes nothing more', async () => {
  const a = await candidate('a');
  await gained(a.lease);
  await a.fenced.create(configMaps, thing('by-a'));
  const b = await candidate('b');
  await eventually(() => b.lease.holder === 'a');
  const next = gained(b.lease);
  const began = performance.now();
  await a.lease.release();
  const took = (await next) - began;
  process.stdout.write(`taken over ${took.toFixed(0)} ms after release() was called\n`);
  expect(await codeOf(a.fenced.create(configMaps, thing('by-a-late')))).toBe('LEASE_LOST');
  await b.fenced.create(configMaps, thing('by-b'));
  expect(writesOf('a')).toHaveLength(1);
  expect(writesOf('b')).toHaveLength(1);
  expect((await b.kube.get(leases, { namespace: 'default', name: 'leader' }))?.spec).toMatchObject({
    holderIdentity: 'b',
    leaseTransitions: 1,
  });
  await b.lease.release();
});

test('a leader that lost its server writes nothing when the server is back, until it leads again', async () => {
  const c = await candidate('c');
  await gained(c.lease);
  const lost = new Promise((resolve) => c.lease.on('lost', resolve));
  await cluster.apiServer.stop();
  await lost;
  const pending = codeOf(c.fenced.create(configMaps, thing('by-c')));
  expect(await pending).toBe('LEASE_LOST');
  const again = gained(c.lease);
  await cluster.apiServer.start();
  await again;
  expect(writesOf('c')).toHaveLength(0);
  // On a slow machine the lease may be lost and gained once more in between.
  await eventually(async () => (await codeOf(c.fenced.create(configMaps, thing('by-c')))) === 'no error');
  expect(c.lease.term).toBeGreaterThanOrEqual(2);
});
