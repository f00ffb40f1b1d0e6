import { instant } from '@handover/material';
import { apiServer, codeOf, type FakeApiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { configMaps, leases } from './kinds.ts';
import type { Kube } from './kube.ts';
import { LeaderLease, type LeadOptions, lead } from './lease.ts';

let server: FakeApiServer;
let stop: AbortController;
let kube: Kube;
let clock: TestClock;
beforeEach(async () => {
  ({ server, stop, kube, clock } = await apiServer());
});

const campaign = (identity: string, more: Partial<LeadOptions> = {}): LeaderLease =>
  lead(kube, {
    namespace: 'default',
    name: 'l',
    identity,
    duration: 3_000,
    renew: 100,
    signal: stop.signal,
    ...more,
  });
const gained = (lease: LeaderLease) => new Promise<void>((resolve) => lease.on('gained', () => resolve()));
const lost = (lease: LeaderLease) =>
  new Promise<string>((resolve) => lease.on('lost', ({ why }) => resolve(why)));
const leaseWrites = () => server.writes.filter(({ path }) => path.includes('/leases'));
const otherWrites = () => server.writes.filter(({ path }) => path.includes('/configmaps'));
const thing = (name: string) => ({ metadata: { name, namespace: 'default' } });

describe('leading', () => {
  test('a lease asks for nothing before it is started, and can be released all the same', async () => {
    const lease = new LeaderLease(kube, { namespace: 'default', name: 'l', identity: 'a' });
    await new Promise((resolve) => setImmediate(resolve));
    await lease.release();
    expect(server.requests).toEqual([]);
  });

  test('of two processes one leads, the other waits, and takes over when the first releases the lease', async () => {
    const a = campaign('a');
    await gained(a);
    const b = campaign('b');
    await clock.until(() => b.holder === 'a');
    expect([a.held, b.held]).toEqual([true, false]);
    const next = gained(b);
    await a.release();
    await clock.during(next, 0);
    expect([a.held, b.held]).toEqual([false, true]);
    const found = await kube.get(leases, { namespace: 'default', name: 'l' });
    expect(found?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  test('a vanished holder is replaced after its duration, by the waiting process’s clock', async () => {
    const own = new AbortController();
    const a = campaign('a', { signal: own.signal });
    await gained(a);
    own.abort();
    const b = campaign('b');
    await clock.until(() => b.holder === 'a');
    await clock.advance(2_999);
    expect(b.held).toBe(false);
    // It looks again every 100 ms or so.
    await clock.advance(250);
    expect(b.held).toBe(true);
  });

  test('a lease is renewed before its time is up, and a failed renewal is tried again', async () => {
    const a = campaign('a');
    await gained(a);
    server.faults.add({ when: ({ method }) => method === 'PUT', status: 500, times: 3 });
    const before = leaseWrites().length;
    await clock.until(() => leaseWrites().length > before + 6);
    expect(a.held).toBe(true);
  });

  test('a renewal whose answer was lost is recognised as its own', async () => {
    const a = campaign('a');
    await gained(a);
    const events: string[] = [];
    a.on('lost', ({ why }) => events.push(why));
    server.faults.add({ when: ({ method }) => method === 'PUT', does: 'lose' });
    const before = leaseWrites().length;
    await clock.until(() => leaseWrites().length > before + 4);
    expect(events).toEqual([]);
    expect(a.held).toBe(true);
  });

  test('a released lease can be taken even when a renewal was still on its way', async () => {
    const a = campaign('a');
    await gained(a);
    server.faults.add({ when: ({ method }) => method === 'PUT', does: 'lose' });
    const before = leaseWrites().length;
    await clock.until(() => leaseWrites().length > before);
    await a.release();
    const b = campaign('b');
    await gained(b);
    expect(b.held).toBe(true);
  });
});

test('a fenced client writes while the lease is held, and reads always', async () => {
  const a = campaign('a');
  const fenced = kube.fenced(a);
  expect(await codeOf(fenced.create(configMaps, thing('early')))).toBe('LEASE_LOST');
  await gained(a);
  await fenced.create(configMaps, thing('x'));
  await a.release();
  expect((await fenced.get(configMaps, { namespace: 'default', name: 'x' }))?.metadata.name).toBe('x');
});

test('a fenced client sends no write of any kind once the time is up, although no timer has fired', async () => {
  const a = campaign('a');
  await gained(a);
  const fenced = kube.fenced(a);
  const made = await fenced.create(configMaps, thing('x'));
  server.faults.add({ when: ({ path }) => path.includes('/leases'), does: 'hang', times: 1000 });
  clock.stall(2_001); // renewWithin is two thirds of 3 s
  const which = { namespace: 'default', name: 'x' };
  const before = otherWrites().length;
  const tries = [
    fenced.create(configMaps, thing('y')),
    fenced.update(configMaps, made),
    fenced.patch(configMaps, which, { merge: { data: {} } }),
    fenced.patch(configMaps, which, { apply: { metadata: { name: 'x' } }, fieldManager: 'f' }),
    fenced.patch(configMaps, which, { json: [] }),
    fenced.delete(configMaps, which),
    fenced.raw('POST', '/api/v1/namespaces/default/configmaps', { body: '{}' }),
  ];
  for (const one of tries) expect(await codeOf(one)).toBe('LEASE_LOST');
  expect(otherWrites()).toHaveLength(before);
  await kube.get(configMaps, which);
});

test('a fenced client sends nothing after the machine was suspended, which the monotonic clock does not notice', async () => {
  const a = campaign('a');
  await gained(a);
  const fenced = kube.fenced(a);
  clock.set(instant(clock.now() + 60_000));
  expect(await codeOf(fenced.create(configMaps, thing('x')))).toBe('LEASE_LOST');
  expect(otherWrites()).toEqual([]);
  const term = () => a.term;
  await clock.until(() => term() === 2);
  await fenced.create(configMaps, thing('y'));
});

/** A write that the API server puts off once, and that waits for its retry: the code of its end, wrapped because a promise in a promise is awaited. */
const throttled = async (write: () => Promise<unknown>): Promise<{ readonly code: Promise<unknown> }> => {
  server.faults.add({
    when: ({ method, path }) => method === 'POST' && path.includes('configmaps'),
    status: 429,
    headers: { 'retry-after': '1' },
  });
  const code = codeOf(write());
  await clock.until(() => otherWrites().length === 1);
  return { code };
};

test('a fenced client stops a write that waits for its retry', async () => {
  const a = campaign('a');
  await gained(a);
  const fenced = kube.fenced(a);
  const { code: writing } = await throttled(() => fenced.create(configMaps, thing('x')));
  void a.release();
  expect(await clock.during(writing)).toBe('LEASE_LOST');
  expect(otherWrites()).toHaveLength(1);
});

test('a fenced client stops a write that is queued behind others when the lease goes', async () => {
  const a = campaign('a', { renew: 1_500 });
  await gained(a);
  const fenced = kube.fenced(a);
  // Every connection of the pool is taken by a read that is not answered.
  server.faults.add({ when: ({ path }) => path.endsWith('/busy'), does: 'hang', times: 1000 });
  const busy = Array.from({ length: 40 }, () =>
    kube.get(configMaps, { namespace: 'default', name: 'busy' }, { timeout: 4_000 }).catch(() => undefined),
  );
  await clock.until(() => server.requests.filter(({ path }) => path.endsWith('/busy')).length >= 32);
  const writing = codeOf(fenced.create(configMaps, thing('x')));
  clock.stall(2_500); // the process was stopped for a while and does not know it yet
  expect(await clock.during(writing)).toBe('LEASE_LOST');
  await clock.during(Promise.all(busy));
  await kube.get(configMaps, { namespace: 'default', name: 'x' });
  expect(otherWrites()).toEqual([]);
});

test('a fenced client does not let a write of an earlier term leave in a later one', async () => {
  const a = campaign('a');
  await gained(a);
  const fenced = kube.fenced(a);
  const { code: writing } = await throttled(() => fenced.create(configMaps, thing('x')));
  const [why, again] = [lost(a), new Promise<void>((resolve) => a.on('gained', () => resolve()))];
  clock.stall(2_001);
  await clock.during(Promise.all([why, again]));
  expect(a.term).toBe(2);
  expect(await clock.during(writing)).toBe('LEASE_LOST');
  expect(otherWrites()).toHaveLength(1);
  await fenced.create(configMaps, thing('y'));
});

test('a lease reports its loss when another process takes the lease', async () => {
  const a = campaign('a');
  await gained(a);
  const why = lost(a);
  await kube.patch(leases, { namespace: 'default', name: 'l' }, { merge: { spec: { holderIdentity: 'z' } } });
  expect(await why).toContain('z holds it');
  expect(await codeOf(kube.fenced(a).create(configMaps, thing('x')))).toBe('LEASE_LOST');
});
