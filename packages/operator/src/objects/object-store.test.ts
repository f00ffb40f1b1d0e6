import type { ObjectRecord } from '@handover/engine';
import { configMaps, type KubeObject } from '@handover/kube';
import { bytesOf, instant } from '@handover/material';
import { apiServer } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { kindsWith } from './kinds.ts';
import { ObjectStore } from './object-store.ts';
import { OwnWritesCache } from './own-writes-cache.ts';
import { projectObject } from './projection.ts';
import { formatRecord } from './record.ts';

const AT = instant(1_000);
const record = (digest: string): ObjectRecord => ({ digest, revisions: {}, anchors: [], changedAt: AT });

test('an object whose data is not cached is left alone, and a write decided past the cache loses no key of Handover’s', async () => {
  const { kube, stop } = await apiServer({ namespaces: ['prod'] });
  const entries = { 'one.pem': { record: record('1'), at: AT }, 'two.pem': { record: record('2'), at: AT } };
  const created = await kube.create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      namespace: 'prod',
      name: 'bundles',
      annotations: { 'handover.dev/record': formatRecord(entries, 'own') },
    },
    data: { 'one.pem': 'one', 'two.pem': 'two' },
  });
  const crowded = {
    ...projectObject('configmaps', created as KubeObject),
    data: {},
    entries: {},
    overBudget: true,
  } as const;
  const source = { held: async () => crowded, all: async () => [crowded] };
  const store = new ObjectStore({
    kube,
    caBundleClient: kube,
    kinds: kindsWith({ version: 'v1' }),
    namespace: 'own',
    cache: new OwnWritesCache(source, source, kube.clock),
    now: () => AT,
    signal: stop.signal,
    mayAdopt: () => true,
    signerOf: () => undefined,
  });
  const id = 'prod/configmaps/bundles/one.pem';
  expect((await store.view(source).read(id))?.obstacle).toMatch(
    /takes more than its share of the operator’s memory; remove/,
  );
  await store.write(id, crowded.version, () => ({
    data: { 'one.pem': bytesOf('new') },
    record: record('3'),
  }));
  const found = await kube.get(configMaps, { namespace: 'prod', name: 'bundles' });
  expect(found?.data).toEqual({ 'one.pem': 'new', 'two.pem': 'two' });
  expect(Object.keys(projectObject('configmaps', found as KubeObject).entries)).toEqual([
    'one.pem',
    'two.pem',
  ]);
});
