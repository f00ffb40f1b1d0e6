import type { ConsumerFound } from '@handover/engine';
import { configMaps } from '@handover/kube';
import { instant } from '@handover/material';
import { apiServer } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { EvidenceWriter, evidenceConfigMapName, readRecordedEvidence } from './evidence-configmap.ts';

const consumer = (id: string, more: Partial<ConsumerFound> = {}): ConsumerFound => ({
  id,
  reload: 'hot',
  ownersWord: false,
  blocks: true,
  presents: [],
  verifies: [],
  instances: [],
  workload: undefined,
  ...more,
});

test('the last observation of consumers is written, even without another pass', async () => {
  const { kube, clock, stop } = await apiServer();
  const failed: unknown[] = [];
  const writer = new EvidenceWriter(kube, 'default', stop.signal, (_, error) => failed.push(error));
  const now = clock.now();
  const told = async () =>
    (await readRecordedEvidence(kube, 'default', 'default/mesh', stop.signal))?.map(({ id }) => id);
  for (const id of ['first', 'second', 'third']) await writer.put('default/mesh', [consumer(id)], now);
  await clock.advance(1_999);
  expect(await told()).toEqual(['first']);
  await clock.advance(1);
  expect(await told()).toEqual(['third']);
  expect(failed).toEqual([]);
});

const published = async (consumers: readonly ConsumerFound[]): Promise<string> => {
  const { kube, clock, stop } = await apiServer();
  const writer = new EvidenceWriter(kube, 'default', stop.signal, (_, error) => {
    throw error;
  });
  await writer.put('prod/mesh', consumers, clock.now());
  const found = await kube.get(configMaps, {
    namespace: 'default',
    name: evidenceConfigMapName('prod/mesh'),
  });
  return found?.data?.['consumers.json'] ?? '';
};
const failing = (text: string) => ({
  blocks: false,
  workload: { stamp: undefined, rolling: true, failing: text, obstacle: text, warning: text },
});

test('consumers of other namespaces do not push out those of the Authority’s own namespace', async () => {
  const others = Array.from({ length: 6 }, (_, i) =>
    consumer(`Deployment evil/x${i}`, {
      ...failing('…'.repeat(450_000)),
      instances: Array.from({ length: 5_000 }, (_one, at) => ({
        uid: `${i}-${at}`,
        createdAt: undefined,
        ready: true,
        stamp: undefined,
        unread: { trust: '…'.repeat(9_000) },
        proofs: [{ by: 'acknowledged' as const, anchors: ['…'.repeat(64)], at: instant(1) }],
      })),
    }),
  );
  const own = Array.from({ length: 4 }, (_, i) => consumer(`Deployment prod/web${i}`));
  const text = await published([
    ...others,
    ...own,
    consumer('Deployment evil/small', failing('…'.repeat(9_000))),
  ]);
  expect(Buffer.byteLength(text)).toBeLessThan(1_000_000);
  const seen = JSON.parse(text) as { leftOut: number; consumers: readonly ConsumerFound[] };
  const named = seen.consumers.map(({ id }) => id);
  expect(named).toEqual(expect.arrayContaining(own.map(({ id }) => id)));
  // One that fits is not left out because one before it does not.
  expect(named).toContain('Deployment evil/small');
  expect(seen.leftOut).toBe(11 - named.length);
  for (const { workload } of seen.consumers) expect(workload?.failing?.length ?? 0).toBeLessThanOrEqual(300);
});
