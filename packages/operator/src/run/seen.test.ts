import type { ConsumerFound } from '@handover/engine';
import { configMaps, connect } from '@handover/kube';
import { instant } from '@handover/material';
import { FakeApiServer } from '@handover/test-api-server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readSeen, SeenWriter, seenName } from './seen.ts';

const consumer = (id: string, more: Partial<ConsumerFound> = {}): ConsumerFound => ({
  id,
  reload: 'hot',
  ownersWord: false,
  blocks: true,
  presents: [],
  verifies: [],
  stripsCross: false,
  instances: [],
  workload: undefined,
  ...more,
});

test('the last observation is told, even without another look', async () => {
  const server = await FakeApiServer.start();
  const end = new AbortController();
  onTestFinished(async () => {
    end.abort();
    await server.stop();
  });
  const kube = connect(server.config, { signal: end.signal });
  const failed: unknown[] = [];
  const writer = new SeenWriter(kube, 'default', end.signal, (_, error) => failed.push(error));
  const now = instant(Date.UTC(2030, 0, 1));
  for (const id of ['first', 'second', 'third']) await writer.put('default/mesh', [consumer(id)], now);
  await vi.waitFor(
    async () => {
      const seen = await readSeen(kube, 'default', 'default/mesh', end.signal);
      expect(seen?.map(({ id }) => id)).toEqual(['third']);
    },
    { timeout: 60_000, interval: 50 },
  );
  expect(failed).toEqual([]);
});

const published = async (consumers: readonly ConsumerFound[]): Promise<string> => {
  const server = await FakeApiServer.start();
  onTestFinished(() => server.stop());
  const { signal } = new AbortController();
  const kube = connect(server.config, { signal });
  const writer = new SeenWriter(kube, 'default', signal, (_, error) => {
    throw error;
  });
  await writer.put('prod/mesh', consumers, instant(Date.UTC(2030, 0, 1)));
  const found = await kube.get(configMaps, { namespace: 'default', name: seenName('prod/mesh') });
  return found?.data?.['consumers.json'] ?? '';
};
const failing = (text: string) => ({
  blocks: false,
  workload: { stamp: undefined, rolling: true, failing: text, obstacle: text, warning: text },
});

test('what others say does not push out the consumers of the own namespace', async () => {
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
