import type { ConsumerFound } from '@handover/engine';
import { connect } from '@handover/kube';
import { FakeApiServer } from '@handover/kube/testing';
import { instant } from '@handover/material';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readSeen, SeenWriter } from './seen.ts';

const consumer = (id: string): ConsumerFound => ({
  id,
  reload: 'hot',
  ownersWord: false,
  blocks: true,
  presents: [],
  verifies: [],
  stripsCross: false,
  instances: [],
  workload: undefined,
});

test('what was seen last is told, even when nobody looks again', async () => {
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
