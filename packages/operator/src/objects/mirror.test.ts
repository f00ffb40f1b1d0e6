import { MANAGED_LABEL } from '@handover/core';
import { configMaps, connect, type Kube, namespaces } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FreshSource, type Source } from './fresh.ts';
import { kindsWith } from './kinds.ts';
import { Mirror } from './mirror.ts';

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  kube = connect(server.config, { signal: end.signal, rate: false });
  for (const name of ['prod', 'evil'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
});
afterEach(async () => {
  end.abort();
  await server.stop();
});

const made = (namespace: string, name: string): Promise<unknown> =>
  kube.create(
    configMaps,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name, labels: { [MANAGED_LABEL]: 'true' } },
      data: { 'ca.crt': `-----BEGIN CERTIFICATE-----\n${'a'.repeat(900_000)}` },
    },
    { namespace },
  );
const keptOf = async (source: Source): Promise<number> =>
  (await source.all('configmaps'))
    .flatMap(({ data }) => Object.values(data))
    .reduce((sum, bytes) => sum + bytes.buffer.byteLength, 0);
const bundle = { plural: 'configmaps', namespace: 'prod', name: 'bundle', part: 'ca.crt' } as const;

test('what a stranger labels as ours fills neither the cache nor a look past it, and takes no room of others', async () => {
  for (let i = 0; i < 20; i++) await made('evil', `x${i}`);
  await made('prod', 'bundle');
  const { signal } = end;
  const kinds = kindsWith({ version: 'v1' });
  const mirror = new Mirror({ kube, kinds, wide: ['configmaps'], onChange: () => {} });
  mirror.start(signal);
  await mirror.ready;
  for (const source of [mirror, new FreshSource({ kube, kinds, signal }, () => true)]) {
    expect(await keptOf(source)).toBeLessThan(10_000_000);
    expect((await source.held(bundle))?.data['ca.crt']).toHaveLength(900_028);
  }
  // Room that is free again is there for the next.
  for (let i = 0; i < 20; i++) await kube.delete(configMaps, { namespace: 'evil', name: `x${i}` });
  await made('evil', 'later');
  await vi.waitFor(() => {
    const later = mirror.get({ ...bundle, namespace: 'evil', name: 'later' });
    expect(later?.version).toBeDefined();
    expect(later?.crowded).toBeUndefined();
  });
});
