import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type Generation, generateKey } from '@handover/core';
import { type AuthorityRecord, Canaries, FairSemaphore, localKeyring, SealKey } from '@handover/engine';
import { after, type Instant, instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Addresses } from './addresses.ts';
import { PodEvidence } from './pod-evidence.ts';
import type { Pod } from './pods.ts';

const T0: Instant = instant(Date.UTC(2030, 0, 1));

let clock: TestClock;
beforeEach(() => {
  clock = new TestClock(T0);
});

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
  const pod = {
    anchors: ['ca2', 'ca1', 'company'],
    leaf: undefined as { fingerprint: string } | undefined,
    times: 0,
    takes: 0,
  };
  const server = createServer((_, response) => {
    pod.times++;
    const at = new Date(T0).toISOString();
    const { anchors, leaf } = pod;
    const text = JSON.stringify({ version: 1, at, pid: 1, podUid, sources: [{ anchors, leaf }] });
    if (pod.takes === 0) response.end(text);
    else clock.after(pod.takes, () => response.end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const seen: Pod = {
    namespace: 'default',
    name: 'web',
    uid: 'web-1',
    version: '1',
    createdAt: T0,
    completes: false,
    ended: false,
    ready: true,
    running: true,
    ip: '127.0.0.1',
    onNode: false,
    mirror: false,
    owner: undefined,
    references: [],
    signers: [],
    started: true,
    annotations: { 'handover.dev/ack-port': String((server.address() as AddressInfo).port) },
  };
  return { pod, seen };
};

const by = (record: AuthorityRecord, now: Instant) => ({
  authority: 'default/mesh',
  record,
  now,
  issuers: new Map<string, string>(),
});
const showing = (addresses = new Addresses([], [])): PodEvidence =>
  new PodEvidence({
    clock,
    canaries: new Canaries({
      keyring: localKeyring(generateKey),
      keys: generateKey,
      random: (bytes) => new Uint8Array(bytes).fill(7),
      log: { issued: async () => {} },
    }),
    addresses,
    semaphore: new FairSemaphore({ inAll: 8, each: 4 }),
  });
const PATIENCE = 10_000;

test('a pod that showed a CA which is retired meanwhile is asked until it no longer shows that CA, and not after', async () => {
  const { pod, seen } = await asked('web-1');
  const shows = showing();
  await shows.of(seen, by(recordOf(1, 'ca2', 'ca1'), T0), PATIENCE);
  await shows.of(seen, by(recordOf(2, 'ca2'), after(T0, 5_000)), PATIENCE);
  await shows.of(seen, by(recordOf(2, 'ca2'), after(T0, 10_000)), PATIENCE);
  expect(pod.times).toBe(3);
  pod.anchors = ['ca2', 'company'];
  const last = await shows.of(seen, by(recordOf(2, 'ca2'), after(T0, 15_000)), PATIENCE);
  expect(last?.proofs[0]?.anchors).toEqual(['ca2', 'company']);
  await shows.of(seen, by(recordOf(2, 'ca2'), after(T0, 60_000)), PATIENCE);
  expect(pod.times).toBe(4);
});

test('a pod that named a leaf which no object held is asked again at rest, until it names one that is known', async () => {
  const { pod, seen } = await asked('web-1');
  const shows = showing();
  const issuers = new Map([['new', 'ca2']]);
  const look = (seconds: number) =>
    shows.of(seen, { ...by(recordOf(1, 'ca2'), after(T0, seconds * 1_000)), issuers }, PATIENCE);
  pod.leaf = { fingerprint: 'old' };
  expect((await look(0))?.proofs[0]?.issuer).toBe('unknown');
  pod.leaf = { fingerprint: 'new' };
  expect((await look(5))?.proofs[0]?.issuer).toBe('ca2');
  await look(30);
  expect(pod.times).toBe(2);
});

test('what a pod serves, or why nothing, comes with the time since when it has been so, and such a pod is asked each minute at rest', async () => {
  const { pod, seen } = await asked('web-1');
  const shows = showing();
  const issuers = new Map([['new', 'ca2']]);
  const look = async (seconds: number) =>
    (await shows.of(seen, { ...by(recordOf(1, 'ca2'), after(T0, seconds * 1_000)), issuers }, PATIENCE))
      ?.served;
  expect(await look(0)).toMatchObject({ leaves: [], none: { reason: 'unread' }, since: T0 });
  await look(30);
  expect(pod.times).toBe(1);
  expect(await look(61)).toMatchObject({ at: after(T0, 61_000), none: { reason: 'unread' }, since: T0 });
  expect(pod.times).toBe(2);
});

test('a pod that a step waits for is asked each second at first, and not 60 times a minute later', async () => {
  const { pod, seen } = await asked('web-1');
  const shows = showing();
  const askedUntil = async (from: number, to: number): Promise<number> => {
    const before = pod.times;
    for (let second = from; second < to; second++)
      await shows.of(seen, by(recordOf(1, 'ca2', 'ca1'), after(T0, second * 1_000)), PATIENCE);
    return pod.times - before;
  };
  expect(await askedUntil(0, 10)).toBe(10);
  await askedUntil(10, 200);
  expect(await askedUntil(200, 260)).toBe(6);
});

test('a status document of another pod is no evidence for the pod that was asked', async () => {
  const { seen } = await asked('web-2');
  const shown = await showing().of(seen, by(recordOf(1, 'ca2', 'ca1'), T0), PATIENCE);
  expect(shown?.proofs).toEqual([]);
  const why = 'the status document is of another pod';
  expect(shown?.unread).toEqual({ trust: why, leaf: why });
});

test.each([
  ['', '/metrics'],
  ['/stats/prometheus', '/stats/prometheus'],
])(
  'a pod with evidence: metrics:PORT%s is asked for %s, and what it shows is acknowledged',
  async (path, expected) => {
    const { seen } = await asked('web-1');
    const paths: (string | undefined)[] = [];
    const ca = 'a'.repeat(64);
    const server = createServer(({ url }, response) => {
      paths.push(url);
      response.end(`tls_trust_anchor_info{sha256="${ca}"} 1\ntls_leaf_info{sha256="${'b'.repeat(64)}"} 1\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const declared = { ...seen, annotations: { 'handover.dev/evidence': `metrics:${port}${path}` } };
    const issuers = new Map([['b'.repeat(64), ca]]);
    const shown = await showing().of(declared, { ...by(recordOf(1, ca), T0), issuers }, PATIENCE);
    expect(shown).toMatchObject({
      proofs: [{ by: 'acknowledged', anchors: [ca], issuer: ca, at: T0 }],
      unread: {},
    });
    expect(paths).toEqual([expected]);
    const onNode = await showing().of({ ...declared, onNode: true }, by(recordOf(1, ca), T0), PATIENCE);
    expect(onNode?.unread.trust).toMatch(/hostNetwork.*handover\.dev\/evidence/);
    expect(paths).toHaveLength(1);
  },
);

test('a pod on its node’s own network, at a loopback address or at the API server’s, is not asked, and the reason is reported', async () => {
  const { pod, seen } = await asked('web-1');
  const onNode = await showing().of({ ...seen, onNode: true }, by(recordOf(1, 'ca2'), T0), PATIENCE);
  expect(onNode?.unread.trust).toMatch(/hostNetwork/);
  const loopback = await showing(new Addresses()).of(seen, by(recordOf(1, 'ca2'), T0), PATIENCE);
  expect(loopback?.unread.trust).toMatch(/127\.0\.0\.1 is a loopback/);
  const server = new Addresses().sparing('https://10.96.0.1:443');
  const api = await showing(server).of({ ...seen, ip: '10.96.0.1' }, by(recordOf(1, 'ca2'), T0), PATIENCE);
  expect(api?.unread.trust).toMatch(/10\.96\.0\.1 is the API server's own address/);
  for (const shown of [onNode, loopback, api]) expect(shown?.proofs).toEqual([]);
  expect(pod.times).toBe(0);
});

test.each([
  ['handover.dev/ack-port', 'http', /ack-port is not a port/],
  ['handover.dev/ack-port', '', /ack-port is not a port/],
  ['handover.dev/evidence', '9090/metrics', /evidence is not readable; write it like metrics:9090/],
  ['handover.dev/evidence', 'metrics:70000', /evidence is not readable/],
  ['handover.dev/evidence', 'metrics:9090/admin', /a path that ends in \/metrics or \/prometheus/],
  ['handover.dev/evidence', 'metrics:9090/../metrics', /evidence is not readable/],
  ['handover.dev/evidence', 'metrics:9090/metrics?all', /evidence is not readable/],
  ['handover.dev/evidence', 'metrics:9090@10.0.0.1/metrics', /evidence is not readable/],
  ['handover.dev/probe', 'https', /probe is not readable; write it like 8443/],
  ['handover.dev/probe', '8443/tls', /probe is not readable/],
  ['handover.dev/probe', '5432/mtls/postgres', /probe is not readable/],
  ['handover.dev/probe', '8443/sni=a/mtls', /probe is not readable/],
  ['handover.dev/probe', '8443/sni=a b', /probe is not readable/],
  ['handover.dev/probe', '8443/sni=', /probe is not readable/],
])(
  'a pod that declares its evidence by %s: "%s" shows none, and the unreadable annotation is named',
  async (name, text, why) => {
    const { pod, seen } = await asked('web-1');
    const declared = { ...seen, annotations: { ...seen.annotations, [name]: text } };
    const shown = await showing().of(declared, by(recordOf(1, 'ca2'), T0), PATIENCE);
    expect(shown?.proofs).toEqual([]);
    expect(shown?.unread).toEqual({ trust: expect.stringMatching(why), leaf: expect.stringMatching(why) });
    expect(pod.times).toBe(0);
  },
);

test('a probe of a pod can start TLS inside another protocol', async () => {
  const { seen } = await asked('web-1');
  const heard: string[] = [];
  const server = createTcpServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (data) => {
        heard.push(data.toString('hex'));
        socket.end('N');
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  for (const how of ['postgres', 'postgres/mtls']) {
    const declared = { ...seen, annotations: { 'handover.dev/probe': `${port}/${how}` } };
    const shown = await showing().of(declared, by(recordOf(1, 'ca2'), T0), PATIENCE);
    expect(shown?.unread.leaf).toBe(`127.0.0.1:${port} has TLS off`);
  }
  expect(heard).toEqual(['0000000804d2162f', '0000000804d2162f']);
});

test('a probe of a pod asks for the server name that its annotation gives', async () => {
  const { seen } = await asked('web-1');
  const names: string[] = [];
  const server = createTlsServer({
    SNICallback: (name, answer) => {
      names.push(name);
      answer(new Error('there is no such name here'));
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  for (const how of ['sni=www.example.org', 'mtls/sni=chat.example.org', 'mtls']) {
    const declared = { ...seen, annotations: { 'handover.dev/probe': `${port}/${how}` } };
    const shown = await clock.during(showing().of(declared, by(recordOf(1, 'ca2'), T0), PATIENCE));
    expect(shown?.proofs).toEqual([]);
  }
  expect([...new Set(names)]).toEqual(['www.example.org', 'chat.example.org']);
});

/** A port that takes connections and never says a word. */
const tarpit = async (): Promise<number> => {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

test('forty silent pods of one namespace do not hold up the pod of another', async () => {
  const { seen } = await asked('web-1');
  const port = String(await tarpit());
  const shows = showing();
  const silent = Array.from({ length: 40 }, (_, index) =>
    shows.of(
      {
        ...seen,
        namespace: 'evil',
        uid: `evil-${index}`,
        annotations: { 'handover.dev/ack-port': port },
      },
      by(recordOf(1, 'ca2', 'ca1'), T0),
      0,
    ),
  );
  // No look waits for pods of another namespace.
  for (const shown of await clock.during(Promise.all(silent), 0)) expect(shown?.proofs).toEqual([]);
  // Behind them it would wait for 40 times 2 s, four at a time.
  const shown = await clock.during(shows.of(seen, by(recordOf(1, 'ca2', 'ca1'), T0), PATIENCE), 0);
  expect(shown?.proofs[0]?.anchors).toEqual(['ca2', 'ca1', 'company']);
});

test('an answer of a pod that comes after the pass counts in the next one', async () => {
  const { pod, seen } = await asked('web-1');
  pod.takes = 100;
  const shows = showing();
  const first = await clock.during(shows.of(seen, by(recordOf(1, 'ca2', 'ca1'), T0), 50), 50);
  expect(first).toMatchObject({ proofs: [], unread: { trust: 'it has not answered yet' } });
  await clock.advance(50);
  const next = await shows.of(seen, by(recordOf(1, 'ca2', 'ca1'), T0), 0);
  expect(next?.proofs).toHaveLength(1);
  expect(pod.times).toBe(1);
});

test('a pod that declares evidence and does not run yet shows nothing, and says so: no time stands in for it', async () => {
  const { pod, seen } = await asked('web-1');
  const shows = showing();
  const record = recordOf(1, 'ca2', 'ca1');
  const why = 'it does not run yet, so that it cannot be asked';
  const { ip: _none, ...withoutAddress } = seen;
  for (const pending of [{ ...seen, running: false }, withoutAddress as Pod])
    expect(await shows.of(pending, by(record, T0), PATIENCE)).toMatchObject({
      proofs: [],
      unread: { trust: why, leaf: why },
    });
  expect(
    await shows.of({ ...seen, running: false, annotations: {} }, by(record, T0), PATIENCE),
  ).toBeUndefined();
  expect(pod.times).toBe(0);
  expect((await shows.of(seen, by(record, T0), PATIENCE))?.proofs).toHaveLength(1);
});
