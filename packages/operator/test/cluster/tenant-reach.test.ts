// Files, sockets and addresses that another namespace names in its own Authority: the operator opens none of them.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { pods } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuthoritySeen } from './pods.ts';
import { resource, until } from './stage.ts';
import { EVIL, put, setTenantStage, slowestLivez, type TenantStage } from './tenant-stage.ts';
import { type Victim, victim } from './tenant-victim.ts';

let stage: TenantStage;
let prod: Victim;
beforeAll(async () => {
  stage = await setTenantStage();
  prod = await victim(stage, 'prod');
  await prod.served();
}, 300_000);
afterAll(async () => {
  for (const server of servers) server.close();
  await stage?.stop();
});

const servers = new Set<Server>();

/** Counts connections, and never answers. */
const trap = async (
  where: { readonly host: string } | { readonly path: string },
): Promise<{ readonly port: number; hits(): number }> => {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.on('error', () => {});
    socket.destroy();
  });
  servers.add(server);
  server.listen('path' in where ? where.path : { host: where.host, port: 0 });
  await once(server, 'listening');
  const port = 'path' in where ? 0 : (server.address() as AddressInfo).port;
  return { port, hits: () => count };
};

const seenOf = async (name: string): Promise<AuthoritySeen> =>
  ((await stage.evil.get(RESOURCE_KINDS.Authority, { namespace: EVIL, name }))?.status ??
    {}) as AuthoritySeen;

/** An Authority of evil that waits for this consumer: the message about it, from the API server or the operator. */
const waitFor = async (
  name: string,
  consumer: object,
  hits: () => number = () => 0,
): Promise<{ readonly said: string; readonly connections: number }> => {
  try {
    const said = await answerTo(name, consumer);
    // For as long as several looks of the operator take.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    return { said, connections: hits() };
  } finally {
    // Else the operator would go on looking for it in the next tests.
    await stage.evil.delete(RESOURCE_KINDS.Authority, { namespace: EVIL, name });
  }
};

const answerTo = async (name: string, consumer: object): Promise<string> => {
  try {
    await put(
      stage.evil,
      resource(
        'Authority',
        name,
        {
          rotation: { reloadWithin: '1s' },
          consumers: [{ name: 'trick', presents: true, verifies: true, ...consumer }],
        },
        EVIL,
      ),
    );
  } catch (error) {
    return (error as Error).message;
  }
  await put(stage.evil, resource('Leaf', name, { authority: name, dnsNames: [`${name}.evil.svc`] }, EVIL));
  await until(async () => (await seenOf(name)).phase === 'Stable', `${name} to begin`);
  await stage.evil.patch(
    RESOURCE_KINDS.Authority,
    { namespace: EVIL, name },
    { merge: { metadata: { annotations: { 'handover.dev/rotate': 'now' } } } },
  );
  // During a rotation it checks its consumers every second; either it continues, or it says what it waits for.
  const seen = await until(
    async () => {
      const now = await seenOf(name);
      const waits = now.blockedBy?.some(({ consumer }) => consumer === 'trick') === true;
      const done = now.phase === 'Stable' && now.generations?.[0]?.generation === 2;
      return (waits || done) && now;
    },
    `${name} to rotate or to wait`,
    30_000,
  );
  const said = seen.blockedBy?.filter(({ consumer }) => consumer === 'trick') ?? [];
  return [
    ...said.map(({ waitsFor }) => waitsFor),
    ...(seen.conditions ?? []).map(({ message }) => message),
  ].join('\n');
};

/** No connection was made, and the status says why. */
const REFUSED = {
  said: expect.stringMatching(
    /\(.*(loopback|link-local|no Service|not a pod|not a Service|opens no status|has a path|API server's own|as IPv6).*\)|consumers\[0\]/s,
  ),
  connections: 0,
};

test.concurrent.each<[string, (port: number) => object]>([
  ['status.url on loopback', (port) => ({ status: { url: `http://127.0.0.1:${port}/` } })],
  [
    'status.url with a path of its own',
    (port) => ({ status: { url: `http://127.0.0.1:${port}/admin?x=1` } }),
  ],
  ['metrics.url on loopback', (port) => ({ metrics: { url: `http://127.0.0.1:${port}/metrics` } })],
  ['status.url by a name of loopback', (port) => ({ status: { url: `http://localhost:${port}/` } })],
  ['status.url by loopback as a number', (port) => ({ status: { url: `http://2130706433:${port}/` } })],
  ['status.url by loopback in hexadecimal', (port) => ({ status: { url: `http://0x7f.1:${port}/` } })],
  ['status.url by loopback in IPv6', (port) => ({ status: { url: `http://[::ffff:127.0.0.1]:${port}/` } })],
  ['probe on loopback', (port) => ({ probe: { address: `127.0.0.1:${port}` } })],
  [
    'probe on loopback by its name, with client certificates',
    (port) => ({ probe: { address: `localhost:${port}`, mtls: true } }),
  ],
  ['probe on any address of this host', (port) => ({ probe: { address: `0.0.0.0:${port}` } })],
])('the operator does not connect to what another namespace names in %s', async (what, consumer) => {
  const { port, hits } = await trap({ host: '127.0.0.1' });
  const name = what
    .toLowerCase()
    .replace(/[^a-z]+/g, '-')
    .replace(/-$/, '');
  expect(await waitFor(name, consumer(port), hits)).toEqual(REFUSED);
});

test.concurrent('the operator does not connect to a socket that another namespace names', async () => {
  const path = join(stage.cluster.directory, 'trap.sock');
  const { hits } = await trap({ path });
  expect(await waitFor('socket', { status: { socket: path } }, hits)).toEqual(REFUSED);
});

test.concurrent.each<[string, string]>([
  ['the metadata service', '169.254.169.254:80'],
  ['a node', '10.11.12.13:10250'],
  ['a Service of another namespace', 'web.prod.svc:8443'],
])('an Authority says why %s is not asked', async (what, address) => {
  expect(await waitFor(`at-${what.toLowerCase().replaceAll(' ', '-')}`, { probe: { address } })).toEqual(
    REFUSED,
  );
});

test.concurrent('an Authority says why the API server is not asked', async () => {
  expect(await waitFor('at-api', { probe: { address: new URL(stage.cluster.url).host } })).toEqual(REFUSED);
});

test.concurrent.each<[string, string, () => Promise<{ readonly port: number; hits(): number }>]>([
  ['loopback', 'liar', () => trap({ host: '127.0.0.1' })],
  // It lies on loopback here; other addresses of it: `addresses` and `home/evidence` in packages/operator/src.
  [
    'the API server',
    'at-server',
    async () => ({ port: Number(new URL(stage.cluster.url).port), hits: () => 0 }),
  ],
])(
  'the operator does not connect to %s because a pod says that this is its address',
  async (_what, name, begin) => {
    const { port, hits } = await begin();
    await put(stage.evil, resource('Authority', name, { rotation: { reloadWithin: '1s' } }, EVIL));
    await put(stage.evil, resource('Leaf', name, { authority: name, dnsNames: [`${name}.evil.svc`] }, EVIL));
    await until(async () => (await seenOf(name)).phase === 'Stable', 'the Authority to begin');
    await put(stage.evil, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: EVIL,
        annotations: {
          'handover.dev/ack-port': String(port),
          'handover.dev/evidence': `metrics:${port}`,
          'handover.dev/probe': String(port),
        },
      },
      spec: {
        automountServiceAccountToken: false,
        containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }],
        volumes: [{ name: 'tls', secret: { secretName: name } }],
      },
    });
    const conditions = ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map((type) => ({
      type,
      status: 'True',
    }));
    const podIP = new URL(stage.cluster.url).hostname;
    await stage.evil.patch(
      pods,
      { namespace: EVIL, name, subresource: 'status' },
      { merge: { status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions } } },
    );
    await stage.evil.patch(
      RESOURCE_KINDS.Authority,
      { namespace: EVIL, name },
      { merge: { metadata: { annotations: { 'handover.dev/rotate': 'now' } } } },
    );
    const said = await until(
      async () => (await seenOf(name)).blockedBy?.find(({ consumer }) => consumer.includes(name))?.waitsFor,
      'the rotation to wait for the pod',
      30_000,
    );
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await stage.evil.delete(RESOURCE_KINDS.Authority, { namespace: EVIL, name });
    expect({ said, connections: hits() }).toEqual(REFUSED);
  },
);

test('a file without an end that another namespace names costs the operator no memory', async () => {
  const before = stage.operator.memory();
  let most = before;
  let said = '';
  const slowest = await slowestLivez(stage.operator, async () => {
    const asked = waitFor('zero', { status: { file: '/dev/zero' } }).then((answer) => {
      said = answer.said;
    });
    const end = Date.now() + 8_000;
    while (Date.now() < end) {
      most = Math.max(most, stage.operator.memory());
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await asked.catch((error: unknown) => {
      said = String(error);
    });
  });
  const grown = Math.round((most - before) / 2 ** 20);
  console.log(`/dev/zero: the operator grew by ${grown} MiB, /livez took ${Math.round(slowest)} ms at most`);
  expect({ grown: grown < 200 ? 'little' : `${grown} MiB`, said }).toEqual({
    grown: 'little',
    said: REFUSED.said,
  });
  expect(slowest).toBeLessThan(5_000);
  await prod.served();
  expect(prod.lies).toEqual([]);
});
