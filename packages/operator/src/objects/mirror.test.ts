import { MANAGED_LABEL } from '@handover/core';
import { configMaps, type Kube } from '@handover/kube';
import { apiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { FreshSource, type Source } from './fresh.ts';
import { kindsWith } from './kinds.ts';
import { Mirror } from './mirror.ts';

let clock: TestClock;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ kube, clock, stop: end } = await apiServer({ namespaces: ['prod', 'evil'] }));
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

test('foreign objects with Handover’s label fill neither the cache nor a list past it, and take no memory from other namespaces', async () => {
  for (let i = 0; i < 10; i++) await made('evil', `x${i}`);
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
  for (let i = 0; i < 10; i++) await kube.delete(configMaps, { namespace: 'evil', name: `x${i}` });
  await made('evil', 'later');
  const { overBudget } = await clock.until(
    () => mirror.get({ ...bundle, namespace: 'evil', name: 'later' }),
    0,
  );
  expect(overBudget).toBeUndefined();
});
