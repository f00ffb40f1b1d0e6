import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Generation, generateKey } from '@handover/core';
import { type AuthorityRecord, SealKey } from '@handover/engine';
import { after, type Instant, instant } from '@handover/material';
import { expect, onTestFinished, test } from 'vitest';
import type { Pod } from './pods.ts';
import { Showing } from './showing.ts';

const T0: Instant = instant(Date.UTC(2030, 0, 1));

const recordOf = (revision: number, ...names: readonly string[]): AuthorityRecord => ({
  state: {
    revision,
    ids: [],
    distrusts: 0,
    crosses: [],
    lastGeneration: 2,
    generations: names.map(
      (fingerprint, index): Generation => ({
        number: 2 - index,
        role: index === 0 ? 'current' : 'previous',
        anchors: [{ fingerprint, notBefore: T0, notAfter: after(T0, 1e10) }],
        hasKey: true,
        since: T0,
      }),
    ),
  },
  certificates: new Map(),
  keys: new Map(),
  sealKey: SealKey.derivedFrom('test'),
});

/** A pod whose status document says that it trusts `anchors`, and how often it was asked. */
const asked = async (podUid: string) => {
  const pod = { anchors: ['ca2', 'ca1', 'company'], times: 0 };
  const server = createServer((_, response) => {
    pod.times++;
    const at = new Date(T0).toISOString();
    response.end(JSON.stringify({ version: 1, at, pid: 1, podUid, sources: [{ anchors: pod.anchors }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const seen: Pod = {
    namespace: 'default',
    name: 'web',
    uid: 'web-1',
    version: '1',
    createdAt: T0,
    ended: false,
    ready: true,
    running: true,
    ip: '127.0.0.1',
    mirror: false,
    owner: undefined,
    references: [],
    annotations: { 'handover.dev/ack-port': String((server.address() as AddressInfo).port) },
  };
  return { pod, seen };
};

const showing = (): Showing =>
  new Showing({ keys: generateKey, random: (bytes) => new Uint8Array(bytes).fill(7) });

test('a pod that showed a CA which is retired meanwhile is asked until it shows it no more, then left alone', async () => {
  const { pod, seen } = await asked('web-1');
  const shows = showing();
  await shows.of(seen, 'default/mesh', recordOf(1, 'ca2', 'ca1'), T0);
  await shows.of(seen, 'default/mesh', recordOf(2, 'ca2'), after(T0, 5_000));
  await shows.of(seen, 'default/mesh', recordOf(2, 'ca2'), after(T0, 10_000));
  expect(pod.times).toBe(3);
  pod.anchors = ['ca2', 'company'];
  const last = await shows.of(seen, 'default/mesh', recordOf(2, 'ca2'), after(T0, 15_000));
  expect(last?.proofs[0]?.anchors).toEqual(['ca2', 'company']);
  await shows.of(seen, 'default/mesh', recordOf(2, 'ca2'), after(T0, 60_000));
  expect(pod.times).toBe(4);
});

test('a document of another pod says nothing about the one that was asked', async () => {
  const { seen } = await asked('web-2');
  const shown = await showing().of(seen, 'default/mesh', recordOf(1, 'ca2', 'ca1'), T0);
  expect(shown?.proofs).toMatchObject([{ anchors: [], issuer: 'unknown' }]);
});
