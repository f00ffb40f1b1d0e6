import { createServer, type Server, type Socket } from 'node:net';
import type { Instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { afterEach, expect, test } from 'vitest';
import { dealKey } from '../../test/world.ts';
import {
  type AuthorityRecord,
  askMetrics,
  askStatus,
  Canaries,
  localKeyring,
  probe,
  readDocument,
  SealKey,
} from '../index.ts';

const clock = new TestClock();
const now: Instant = clock.now();
const record: AuthorityRecord = {
  state: {
    revision: 1,
    ids: [],
    distrusts: 0,
    crosses: [],
    lastGeneration: 1,
    generations: [
      {
        number: 1,
        role: 'current',
        anchors: [{ fingerprint: 'ca1', notBefore: now, notAfter: now }],
        hasKey: true,
        since: now,
      },
    ],
  },
  certificates: new Map(),
  keys: new Map(),
  sealKey: SealKey.derivedFrom('test'),
};

const ISSUED = { record, now, issuers: new Map<string, string>() };

let server: Server | undefined;
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

/** A hostile server, and how many of its connections are open. */
const hostile = async (answer: (socket: Socket) => void): Promise<number> => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    answer(socket);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};
const allClosed = async (): Promise<void> => {
  await clock.until(() => sockets.size === 0);
};
/** What `work` comes to, and after how many seconds. */
const timed = async <T>(work: Promise<T>): Promise<{ readonly result: T; readonly seconds: number }> => {
  const began = clock.monotonic();
  const result = await clock.during(work);
  return { result, seconds: (clock.monotonic() - began) / 1_000 };
};

const drip = (head: string, every: string) => (socket: Socket) => {
  socket.once('data', () => {
    socket.write(head);
    const timer = clock.every(50, () => socket.write(every));
    socket.on('close', () => timer.cancel());
  });
};
const flood = (head: string) => (socket: Socket) => {
  const more = (): void => {
    while (!socket.destroyed && socket.write('x'.repeat(1_000))) {}
  };
  socket.once('data', () => {
    socket.write(head);
    more();
    socket.on('drain', more);
  });
};

test.each([
  ['never answers', (socket: Socket) => void socket.resume()],
  ['sends a byte now and then', drip('HTTP/1.1 200 OK\r\n\r\n', ' ')],
  ['sends a header now and then', drip('HTTP/1.1 200 OK\r\n', 'a: b\r\n')],
  ['announces an answer again and again', drip('', 'HTTP/1.1 102 Processing\r\n\r\n')],
  [
    'goes over to another protocol',
    (socket: Socket) =>
      void socket
        .resume()
        .write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  ],
  ['ends without a word', (socket: Socket) => void socket.resume().end()],
  ['sends headers without end', flood('HTTP/1.1 200 OK\r\na: ')],
  ['sends a document without end', flood('HTTP/1.1 200 OK\r\n\r\n')],
  ['sends an error without end', flood('HTTP/1.1 500 No\r\n\r\n')],
])(
  'a server that %s when asked for its status or its metrics shows nothing, and is given up',
  async (_, answer) => {
    const port = await hostile(answer);
    for (const [ask, what] of [
      [askStatus, 'no status document'],
      [askMetrics, 'no metrics'],
    ] as const) {
      const { result, seconds } = await timed(ask({ url: `http://127.0.0.1:${port}/` }, ISSUED, clock));
      const { proof, unread } = result;
      expect(proof).toBeUndefined();
      expect(unread.trust).toContain(`${what} from http:`);
      expect(unread.trust).not.toMatch(/: [A-Z_]+$/); // a bare code of the system
      expect(unread.leaf).toBe(unread.trust);
      expect(seconds).toBeLessThanOrEqual(2);
      await allClosed();
    }
  },
);

test('a server that never ends its TLS handshake when asked for its status shows nothing, and is given up', async () => {
  const port = await hostile(drip('', '\x16\x03\x03\x00\x01'));
  const { result, seconds } = await timed(askStatus({ url: `https://127.0.0.1:${port}/` }, ISSUED, clock));
  expect(result.proof).toBeUndefined();
  expect(seconds).toBe(2);
  await allClosed();
});

test('a server that drips its handshake when probed shows nothing, and is given up', async () => {
  const port = await hostile(drip('', '\x16'));
  const random = (bytes: number) => new Uint8Array(bytes).fill(7);
  const log = { issued: async () => {} };
  const canaries = new Canaries({ keyring: localKeyring(dealKey), keys: dealKey, random, log });
  const target = { authority: 'default/mesh', address: `127.0.0.1:${port}`, mtls: true };
  const { result: shown, seconds } = await timed(probe(target, record, { clock, canaries }, now));
  expect(shown.proofs).toEqual([]);
  expect(shown.unread.leaf).toBe(shown.unread.trust);
  expect(seconds).toBeLessThanOrEqual(10);
  await allClosed();
});

test('a status document full of unknown CAs is read in one pass', () => {
  const anchors = ['ca1', ...Array.from({ length: 200_000 }, (_, index) => String(index))];
  const at = new Date(now).toISOString();
  const text = JSON.stringify({ version: 1, at, pid: 1, sources: [{ anchors }, { anchors }] });
  expect(readDocument(text, ISSUED).proof?.anchors).toHaveLength(anchors.length);
});
