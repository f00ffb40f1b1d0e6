import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { apiServer, codeOf, type FakeApiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { connect } from './client.ts';
import { Hidden } from './hidden.ts';
import { configMaps, leases, secrets } from './kinds.ts';
import type { Kube } from './kube.ts';
import type { RequestReport } from './request-report.ts';
import { retryAfterOf } from './session.ts';

let server: FakeApiServer;
let stop: AbortController;
let kube: Kube;
let clock: TestClock;
const reports: RequestReport[] = [];
beforeEach(async () => {
  reports.length = 0;
  const client = { userAgent: 'test/1', onRequest: (report: RequestReport) => reports.push(report) };
  ({ server, kube, clock, stop } = await apiServer({ client }));
});

const which = { namespace: 'default', name: 'x' };
const made = () => kube.create(configMaps, { metadata: which, data: { a: '1' } });

test('a fault of this program is not called an unreachable server', async () => {
  const broken = { ca: { pem: 'not hidden' } } as never;
  const kube = connect({ ...server.config, tls: broken }, { signal: stop.signal, clock });
  await expect(kube.raw('GET', '/version')).rejects.toThrow(TypeError);
});

test('requests one after another share connections', async () => {
  await made();
  for (let i = 0; i < 50; i++) await kube.get(configMaps, which);
  // undici may open a second connection when the next request comes before the first is idle.
  expect(server.connections.made).toBeLessThanOrEqual(2);
});

test('requests at once use a bounded number of connections', async () => {
  await made();
  await Promise.all(Array.from({ length: 200 }, () => kube.get(configMaps, which)));
  expect(server.connections.made).toBeLessThanOrEqual(32);
});

test('requests are reported to onRequest', async () => {
  await made();
  await kube.get(configMaps, { ...which, name: 'missing' });
  const [create, get] = reports;
  expect(create).toMatchObject({
    verb: 'create',
    resource: 'configmaps',
    namespace: 'default',
    status: 201,
  });
  expect(get).toMatchObject({ verb: 'get', name: 'missing', status: 404, group: '', version: 'v1' });
  expect(server.requests.at(-1)?.headers['user-agent']).toBe('test/1');
});

describe('a server in trouble', () => {
  test('answers 429 and 503 with Retry-After are retried after that time, writes too', async () => {
    for (const status of [429, 503]) {
      server.faults.add({ status, headers: { 'retry-after': '2' }, times: 2 });
    }
    const making = made();
    await clock.advance(1_999);
    expect(server.requests).toHaveLength(1);
    await clock.during(making);
    expect(server.requests).toHaveLength(5);
    expect(reports.map(({ status }) => status)).toEqual([429, 429, 503, 503, 201]);
  });

  test('answers 503 without Retry-After, and 500, are errors at once', async () => {
    server.faults.add({ status: 503 });
    expect(await codeOf(kube.get(configMaps, which))).toBe('KUBE_UNAVAILABLE');
    server.faults.add({ status: 500 });
    expect(await codeOf(kube.get(configMaps, which))).toBe('KUBE_INTERNAL');
    expect(server.requests).toHaveLength(2);
  });

  test('a server that refuses gets a bounded number of retries', async () => {
    server.faults.add({ status: 429, headers: { 'retry-after': '0' }, times: 100 });
    expect(await clock.during(codeOf(kube.get(configMaps, which)))).toBe('KUBE_TOO_MANY_REQUESTS');
    expect(server.requests).toHaveLength(6);
    server.faults.clear();
    server.faults.add({ status: 429, headers: { 'retry-after': '3600' } });
    expect(await codeOf(kube.get(configMaps, which))).toBe('KUBE_TOO_MANY_REQUESTS');
  });

  test('Retry-After is seconds or a date', () => {
    const of = (status: number, text?: string) =>
      retryAfterOf({ status, headers: text === undefined ? {} : { 'retry-after': text } }, 0);
    expect(of(429, '7')).toBe(7_000);
    expect(of(503, 'Thu, 01 Jan 1970 00:00:09 GMT')).toBe(9_000);
    expect(of(429)).toBe(1_000);
    expect(of(503)).toBeUndefined();
    expect(of(500, '7')).toBeUndefined();
    expect(of(429, 'soon')).toBe(1_000);
  });

  test('a read is retried once when its connection was cut; a write is not', async () => {
    await made();
    server.faults.add({ does: 'reset' });
    expect((await kube.get(configMaps, which))?.data).toEqual({ a: '1' });
    server.faults.add({ does: 'lose' });
    const before = server.writes.length;
    const patch = kube.patch(configMaps, which, { merge: { data: { a: '2' } } });
    expect(await codeOf(patch)).toBe('KUBE_UNAVAILABLE');
    expect(server.writes).toHaveLength(before + 1);
  });

  test('a server that does not answer: a timeout or a signal ends the request and its connection', async () => {
    server.faults.add({ does: 'hang', times: 3 });
    const late = codeOf(kube.get(configMaps, which, { timeout: 1_000 }));
    expect(await clock.during(late, 1_000)).toBe('KUBE_TIMEOUT');
    expect(reports.at(-1)?.ms).toBe(1_000);
    expect(server.requests).toHaveLength(1);
    const own = new AbortController();
    const asked = codeOf(kube.get(configMaps, which, { signal: own.signal }));
    await clock.until(() => server.requests.length === 2);
    own.abort();
    expect(await asked).toBe('KUBE_ABORTED');
    expect(await codeOf(kube.get(configMaps, which, { signal: AbortSignal.abort() }))).toBe('KUBE_ABORTED');
    expect(server.requests).toHaveLength(2);
    // Both were cut; undici replaces each with an idle one.
    await clock.until(() => server.connections.made - server.connections.open >= 2);
  });

  test('a server that is missing is unavailable, with a retry later', async () => {
    await server.stop();
    await expect(clock.during(kube.get(configMaps, which))).rejects.toMatchObject({
      code: 'KUBE_UNAVAILABLE',
      retry: 'later',
    });
  });

  test('a server that does not answer JSON is not an API server', async () => {
    const web = createServer((_, response) => response.end('<html>hello</html>'));
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const { port } = web.address() as AddressInfo;
    const lost = connect(
      { ...server.config, server: `http://127.0.0.1:${port}` },
      { signal: stop.signal, clock },
    );
    expect(await codeOf(lost.get(configMaps, which))).toBe('KUBE_BAD_ANSWER');
    expect(await codeOf(lost.list(configMaps))).toBe('KUBE_BAD_ANSWER');
    stop.abort();
    await new Promise((resolve) => web.close(resolve));
  });

  test('a client asks for no paths of other servers', async () => {
    expect(await codeOf(kube.raw('GET', '//elsewhere/'))).toBe('OPTION_INVALID');
    expect(await codeOf(kube.raw('GET', 'http://elsewhere/'))).toBe('OPTION_INVALID');
  });

  test('an answer over the bound is refused before all of it is in memory', async () => {
    await kube.create(configMaps, { metadata: which, data: { a: 'x'.repeat(100_000) } });
    const path = '/api/v1/namespaces/default/configmaps/x';
    expect(await codeOf(kube.raw('GET', path, { maxBytes: 50_000 }))).toBe('KUBE_TOO_LARGE');
    expect((await kube.raw('GET', path, { maxBytes: 200_000 })).status).toBe(200);
  });

  test('the client’s signal ends all requests and connections', async () => {
    server.faults.add({ does: 'hang' });
    const asked = codeOf(kube.get(configMaps, which));
    await clock.until(() => server.requests.length === 1);
    stop.abort();
    expect(await asked).toBe('KUBE_ABORTED');
    expect(await codeOf(kube.get(configMaps, which))).toBe('KUBE_ABORTED');
    await clock.until(() => server.connections.open === 0);
  });
});

test('the client’s rate limit holds, and a signal ends a waiting request', async () => {
  const slow = connect(server.config, { signal: stop.signal, clock, rate: { perSecond: 0.001, burst: 2 } });
  await slow.get(configMaps, which);
  await slow.get(configMaps, which);
  const own = new AbortController();
  const third = codeOf(slow.get(configMaps, which, { signal: own.signal }));
  own.abort();
  expect(await third).toBe('KUBE_ABORTED');
  expect(server.requests).toHaveLength(2);
});

test('the client’s rate limit does not hold up a Lease', async () => {
  const slow = connect(server.config, { signal: stop.signal, clock, rate: { perSecond: 0.001, burst: 1 } });
  await slow.get(configMaps, which);
  const own = new AbortController();
  const behind = codeOf(slow.get(configMaps, which, { signal: own.signal }));
  expect(await slow.get(leases, which)).toBeUndefined();
  own.abort();
  expect(await behind).toBe('KUBE_ABORTED');
});

describe('credentials', () => {
  test('the error for a refused token does not quote the token', async () => {
    await server.stop();
    await server.start({ token: 'right' });
    const wrong = { ...server.config, auth: { token: new Hidden('wrong-token-of-ours') } };
    const refused = connect(wrong, { signal: stop.signal, clock }).get(configMaps, which);
    await expect(refused).rejects.toMatchObject({ code: 'KUBE_UNAUTHORIZED' });
    await refused.catch((error: Error) =>
      expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('wrong-token'),
    );
    expect(await codeOf(connect(server.config, { signal: stop.signal, clock }).get(configMaps, which))).toBe(
      'no error',
    );
    expect(JSON.stringify(wrong)).not.toContain('wrong-token');
  });

  test('a client impersonates with every group', async () => {
    const as = { user: 'jane', groups: ['a', 'b'], extra: { 'Scopes/x': ['1'] } };
    await connect({ ...server.config, impersonate: as }, { signal: stop.signal, clock }).get(
      configMaps,
      which,
    );
    expect(server.requests.at(-1)?.headers).toMatchObject({
      'impersonate-user': 'jane',
      'impersonate-group': 'a, b',
      'impersonate-extra-scopes%2fx': '1',
    });
  });
});

test('a name cannot leave its place in the path', async () => {
  for (const name of ['..', 'a/b', '', '%2e']) {
    expect(await codeOf(kube.get(configMaps, { namespace: 'default', name }))).toBe('KUBE_NAME_INVALID');
    expect(await codeOf(kube.list(configMaps, { namespace: name }))).toBe('KUBE_NAME_INVALID');
  }
  expect(await codeOf(kube.get(configMaps, { name: 'x' }))).toBe('KUBE_NAME_INVALID');
  expect(server.requests).toHaveLength(0);
});

test('an error about a Secret does not quote its values', async () => {
  server.faults.add({
    status: 422,
    reason: 'Invalid',
    message: 'Secret "s" is invalid: data[x]: Invalid value: "c3VwZXItc2VjcmV0"',
  });
  const failing = kube.create(secrets, { metadata: { name: 's', namespace: 'default' } });
  await failing.catch((error: Error) => expect(error.message).not.toContain('c3VwZXItc2VjcmV0'));
  expect(await codeOf(failing)).toBe('KUBE_INVALID');
});

test('lists start again when their pages expire in between', async () => {
  for (let i = 0; i < 5; i++)
    await kube.create(configMaps, { metadata: { name: `a${i}`, namespace: 'default' } });
  server.faults.add({ when: ({ query }) => query.has('continue'), status: 410, reason: 'Expired' });
  const { items } = await kube.list(configMaps, { namespace: 'default', limit: 2 });
  expect(items).toHaveLength(5);
  server.faults.add({
    when: ({ query }) => query.has('continue'),
    status: 410,
    reason: 'Expired',
    times: 2,
  });
  expect(await codeOf(kube.list(configMaps, { namespace: 'default', limit: 2 }))).toBe('KUBE_GONE');
});

test('lists ask for smaller pages when one is too large', async () => {
  for (let i = 0; i < 5; i++)
    await kube.create(configMaps, { metadata: { name: `a${i}`, namespace: 'default' } });
  server.faults.add({ when: ({ query }) => Number(query.get('limit')) > 1, status: 413, times: 10 });
  const { items } = await kube.list(configMaps, { namespace: 'default', limit: 4 });
  expect(items).toHaveLength(5);
  expect(
    server.requests.filter(({ query }) => query.has('limit')).map(({ query }) => query.get('limit')),
  ).toEqual(['4', '1', '2', '1', '1', '1', '1']);
});

test('a list of large objects is read in pages of a few MiB', async () => {
  const text = 'x'.repeat(900_000);
  for (let i = 0; i < 12; i++)
    await kube.create(configMaps, { metadata: { name: `a${i}`, namespace: 'default' }, data: { text } });
  const sizes: number[] = [];
  for await (const { items } of kube.pages(configMaps, { namespace: 'default' }))
    sizes.push(items.reduce((sum, item) => sum + JSON.stringify(item).length, 0));
  expect(sizes.length).toBeGreaterThan(3);
  expect(Math.max(...sizes)).toBeLessThan(6 * 1024 * 1024);
});
