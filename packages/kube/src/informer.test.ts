import { apiServer, type FakeApiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { Informer } from './informer.ts';
import type { InformerOptions } from './informer-options.ts';
import { type ConfigMap, configMaps } from './kinds.ts';
import type { Kube } from './kube.ts';

let server: FakeApiServer;
let stop: AbortController;
let kube: Kube;
let clock: TestClock;
beforeEach(async () => {
  ({ server, stop, kube, clock } = await apiServer());
});

const namespace = 'default';
const put = (name: string, x: string) =>
  kube.patch(
    configMaps,
    { namespace, name },
    { apply: { metadata: { name }, data: { x } }, fieldManager: 'f', force: true },
  );

const inform = (more: Partial<InformerOptions<ConfigMap, string>> = {}) => {
  const informer = new Informer<ConfigMap, string>(kube, configMaps, {
    namespace,
    project: ({ data }) => data?.x,
    ...more,
  });
  const seen: string[] = [];
  informer.on('changed', ({ key, before, after }) =>
    seen.push(`${key.split('/')[1]} ${before ?? ''}→${after ?? ''}`),
  );
  return { informer: informer.start(stop.signal), seen };
};
const lists = () =>
  server.requests.filter(
    ({ method, path, watch, query }) =>
      method === 'GET' && path.endsWith('configmaps') && (!watch || query.has('sendInitialEvents')),
  );
const watches = () => server.requests.filter(({ watch, query }) => watch && !query.has('sendInitialEvents'));

describe.each(['stream', 'pages'] as const)('an informer that lists by %s', (mode) => {
  test('an informer resumes where it stopped when the server ends the watch', async () => {
    await put('a', '1');
    const { informer, seen } = inform({ lists: mode });
    await informer.ready;
    await clock.until(() => server.watches === 1);
    await put('a', '2');
    await clock.until(() => seen.includes('a 1→2'));
    server.endWatches();
    await put('a', '3');
    await clock.until(() => seen.includes('a 2→3'));
    expect(lists()).toHaveLength(1);
    expect(informer.state).toMatchObject({ phase: 'watching', lists: 1, synced: true });
  });

  test('an informer with a lifetime opens short watches after the list, each where the last one stopped, and lists once', async () => {
    await put('a', '1');
    const { informer, seen } = inform({ lists: mode, lifetime: 1 });
    await informer.ready;
    await clock.until(() => watches().length >= 1);
    expect(watches()[0]?.query.get('timeoutSeconds')).toBe('1');
    server.endWatches();
    await put('a', '2');
    await clock.until(() => seen.includes('a 1→2'));
    expect(lists()).toHaveLength(1);
  });

  test('an informer lists again when its version is gone, and reports the missed changes', async () => {
    for (const name of ['a', 'b', 'c']) await put(name, '1');
    const { informer, seen } = inform({ lists: mode });
    await informer.ready;
    await server.stop();
    const { store } = server;
    const configs = store.kind('', 'v1', 'configmaps');
    const by = { manager: 'm', subresource: '', dryRun: false };
    store.delete(configs, { namespace, name: 'a' }, {}, false);
    store.patch(configs, { namespace, name: 'b' }, (object) => ({ ...object, data: { x: '2' } }), by);
    store.create(configs, { namespace, name: 'd' }, { metadata: { name: 'd' }, data: { x: '1' } }, by);
    server.compact();
    seen.length = 0;
    await server.start();
    await clock.until(() => seen.length === 3);
    expect(seen.sort()).toEqual(['a 1→', 'b 1→2', 'd →1']);
    expect(informer.get(`${namespace}/c`)).toBe('1');
    expect(informer.state.lists).toBe(2);
  });

  test('an informer continues after errors that end others', async () => {
    await put('a', '1');
    for (const status of [500, 403, 404])
      server.faults.add({ when: ({ method }) => method === 'GET', status });
    server.faults.add({ when: ({ method }) => method === 'GET', does: 'reset' });
    const { informer } = inform({ lists: mode });
    const troubles: string[] = [];
    informer.on('trouble', (error) => troubles.push((error as { code?: string }).code ?? ''));
    await clock.until(() => informer.synced, 60_000);
    expect(informer.list()).toEqual(['1']);
    expect(troubles.length).toBeGreaterThanOrEqual(3);
  });
});

test('an informer connects again when its connection is silent', async () => {
  await put('a', '1');
  const { informer, seen } = inform({ silence: 150 });
  await informer.ready;
  await clock.until(() => server.watches === 1);
  server.silence();
  await put('a', '2');
  await clock.advance(149);
  expect(seen).not.toContain('a 1→2');
  await clock.until(() => seen.includes('a 1→2'));
  expect(informer.state.lastError).toMatchObject({ code: 'KUBE_WATCH_SILENT' });
  expect(lists()).toHaveLength(1);
});

test('an informer follows bookmarks, so that quiet kinds need no new list', async () => {
  await put('a', '1');
  const { informer, seen } = inform();
  await informer.ready;
  await kube.create(
    { ...configMaps, plural: 'secrets', kind: 'Secret' },
    { metadata: { name: 's', namespace } },
  );
  server.compact();
  server.bookmark();
  await clock.until(() => informer.state.resourceVersion === String(server.store.history.version));
  server.endWatches();
  await put('a', '2');
  await clock.until(() => seen.includes('a 1→2'));
  expect(lists()).toHaveLength(1);
  expect(watches().length).toBeGreaterThanOrEqual(1);
});

test('an informer reads pages when the server has no streaming lists, from then on', async () => {
  await server.stop();
  await server.start({ streamingLists: false });
  await put('a', '1');
  const { informer, seen } = inform();
  await informer.ready;
  server.compact({ tell: true });
  await put('a', '2');
  await clock.until(() => seen.includes('a 1→2'));
  expect(server.requests.filter(({ query }) => query.has('sendInitialEvents'))).toHaveLength(1);
});

test('an informer lists again when the server has lower versions', async () => {
  await put('a', '1');
  const { informer } = inform();
  await informer.ready;
  for (let i = 0; i < 5; i++) await put('a', `x${i}`);
  await clock.until(() => informer.get(`${namespace}/a`) === 'x4');
  // Restored from a backup: lower versions than the informer has seen, and other objects.
  server.restore();
  await put('b', '1');
  await clock.until(() => informer.keys().join() === `${namespace}/b`);
  expect(informer.state.lists).toBe(2);
});

test('an informer keeps only the projection', async () => {
  await put('keep', 'long');
  await put('drop', '');
  const { informer, seen } = inform({
    project: ({ data }) => data?.x || undefined,
    indexes: { first: (x) => [x[0] ?? ''] },
  });
  await informer.ready;
  expect(informer.keys()).toEqual([`${namespace}/keep`]);
  expect(informer.by('first', 'l')).toEqual(['long']);
  await put('keep', '');
  await clock.until(() => seen.includes('keep long→'));
  expect(informer.keys()).toEqual([]);
  expect(informer.by('first', 'l')).toEqual([]);
  expect(() => informer.by('nothing', 'x')).toThrow('no index');
});

test('an informer without a projection keeps the object but not its managed fields', async () => {
  await put('a', '1');
  const informer = new Informer(kube, configMaps, { namespace }).start(stop.signal);
  await informer.ready;
  expect(informer.get(`${namespace}/a`)?.data).toEqual({ x: '1' });
  expect(informer.get(`${namespace}/a`)?.metadata.managedFields).toBeUndefined();
});

test('a listener that throws does not stop an informer', async () => {
  const uncaught: unknown[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  const listener = (error: unknown) => uncaught.push(error);
  process.on('uncaughtException', listener);
  const { informer, seen } = inform();
  informer.on('changed', () => {
    throw new Error('mine');
  });
  await informer.ready;
  await put('a', '1');
  await put('a', '2');
  await clock.until(() => seen.includes('a 1→2') && uncaught.length === 2);
  process.off('uncaughtException', listener);
  for (const other of others) process.on('uncaughtException', other);
});

test('an informer stops when asked, and rejects ready', async () => {
  server.faults.add({ does: 'hang', times: 10 });
  const { informer } = inform();
  const waiting = expect(informer.ready).rejects.toMatchObject({ code: 'KUBE_ABORTED' });
  await clock.until(() => server.requests.length === 1);
  informer.stop();
  await waiting;
  expect(informer.state.phase).toBe('stopped');
  stop.abort();
  await clock.until(() => server.connections.open === 0);
});
