import { execFileSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { configMaps, pods } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { Addresses } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authoritySeen, leaf, rotate } from './pods.ts';
import { beyondRights, resource, type Stage, setStage, until } from './stage.ts';

// Which addresses the operator connects to, on a real API server, with only the rights of an installation: docs/decisions/0403.
let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: {} });
  await until(
    async () => (await stage.cluster.kubectl('get', 'serviceaccounts', '-o', 'name')).includes('/default'),
    'the account of pods',
  );
}, 300_000);
afterAll(() => stage.stop());

const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { ports: [{ port: 80, targetPort: 'status' }], ...spec },
});

/** A pod that no node runs, with the status that a kubelet would write. Returns its uid. */
const pod = async (
  name: string,
  app: string,
  ip: string,
  port: number,
  spec: object = {},
): Promise<string> => {
  const containers = [{ name: 'main', image: 'none', ports: [{ name: 'status', containerPort: port }] }];
  await stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app } },
    spec: { containers, ...spec },
  });
  const { metadata } = await stage.kube.patch(
    pods,
    { namespace: 'default', name, subresource: 'status' },
    { merge: { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] } } },
  );
  return metadata.uid ?? '';
};

const listening = async (server: Server, host: string, port = 0): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return (server.address() as AddressInfo).port;
};

const begin = async (name: string, consumers: readonly object[]): Promise<void> => {
  await stage.cluster.apply(
    resource('Authority', name, { consumers, rotation: { reloadWithin: '1s' } }),
    leaf(name, name),
  );
  await stage.cluster.kubectl('wait', '--for=condition=Ready', `authority/${name}`, '--timeout=60s');
  await rotate(stage, name, 'one');
};

test('the operator opens no file, socket or address that a tenant chose; each blocks its own authority, with a reason', async () => {
  const operator = stage.start('strict', { resync: 3_000 });
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    response.end();
  });
  server.on('connection', () => asked++);
  const port = await listening(server, '127.0.0.1');
  const fifo = join(stage.cluster.directory, 'fifo');
  execFileSync('mkfifo', [fifo]);
  await pod('inside', 'inside', '127.0.0.1', port);
  await pod('host', 'host', '10.99.0.1', port, { hostNetwork: true });
  await stage.cluster.apply(
    service('inside', { selector: { app: 'inside' } }),
    service('host', { selector: { app: 'host' } }),
    service('elsewhere', { type: 'ExternalName', externalName: 'localhost' }),
    service('bare', {}),
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'bare', namespace: 'default', labels: { 'kubernetes.io/service-name': 'bare' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'] }],
      ports: [{ port: 80 }],
    },
  );
  const wanted: Readonly<Record<string, readonly [object, RegExp]>> = {
    file: [{ status: { file: fifo } }, /opens no status\.file/],
    socket: [{ status: { socket: '/run/containerd/containerd.sock' } }, /no status\.socket/],
    loopback: [{ status: { url: `http://127.0.0.1:${port}/` } }, /127\.0\.0\.1 is a loopback/],
    number: [{ status: { url: `http://2130706433:${port}/` } }, /127\.0\.0\.1 is a loopback/],
    localhost: [{ probe: { address: `localhost:${port}` } }, /there is no Service default\/localhost/],
    metadata: [{ status: { url: 'http://169.254.169.254/' } }, /link-local/],
    apiserver: [{ probe: { address: 'kubernetes:443' } }, /Service default\/kubernetes has no selector/],
    elsewhere: [{ probe: { address: 'elsewhere:80' } }, /ExternalName/],
    bare: [{ probe: { address: 'bare:80' } }, /Service default\/bare has no selector/],
    inside: [{ probe: { address: 'inside:80' } }, /pod default\/inside: 127\.0\.0\.1 is a loopback/],
    host: [{ probe: { address: 'host:80' } }, /hostNetwork/],
    foreign: [{ probe: { address: 'dns.kube-system.svc:53' } }, /not a Service of namespace default/],
    world: [{ probe: { address: '192.0.2.7:443' } }, /not a pod of namespace default/],
  };
  await begin(
    'strict',
    Object.entries(wanted).map(([name, [how]]) => ({ name, verifies: true, ...how })),
  );
  const blocked = await until(async () => {
    const { blockedBy = [] } = await authoritySeen(stage, 'strict');
    return blockedBy.length > 0 && new Map(blockedBy.map(({ consumer, waitsFor }) => [consumer, waitsFor]));
  }, 'the blockers');
  for (const [name, [, why]] of Object.entries(wanted)) expect(blocked.get(name), name).toMatch(why);
  expect(asked).toBe(0);
  // With a reader at its other end this would succeed: fifo(7).
  expect(() => openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK)).toThrow(/ENXIO/);
  expect(beyondRights(stage, [])).toEqual([]);
  await operator.stop();
  server.close();
}, 180_000);

test('every pod behind a Service must show what it has loaded, each at its own address', async () => {
  // The pods of this test have only loopback.
  const operator = stage.start('lenient', { resync: 3_000, pods: { addresses: new Addresses([], []) } });
  const told = new Set<string>();
  const serverOf = (ip: string): Server =>
    createServer((request, response) => {
      void stage.kube.get(configMaps, { namespace: 'default', name: 'each-trust' }).then((found) => {
        const text = found?.data?.['ca.crt'];
        const certificates = text === undefined ? [] : parseCertificates(text).certificates;
        const anchors = told.has(ip) ? certificates.map(({ fingerprint }) => fingerprint) : [];
        const at = new Date().toISOString();
        response.writeHead(request.url === '/handover/status' ? 200 : 404);
        response.end(JSON.stringify({ version: 1, at, pid: 1, sources: [{ anchors }] }));
      });
    });
  const servers = ['127.0.0.2', '127.0.0.3'].map((ip) => [ip, serverOf(ip)] as const);
  let port = 0;
  for (const [ip, server] of servers) port = await listening(server, ip, port);
  await pod('each-a', 'each', '127.0.0.2', port);
  const late = await pod('each-b', 'each', '127.0.0.3', port);
  await stage.cluster.apply(service('each', { selector: { app: 'each' } }));
  told.add('127.0.0.2');
  await begin('each', [{ name: 'each', verifies: true, status: { url: 'http://each.default.svc/' } }]);
  const blocked = await until(async () => {
    const { blockedBy = [] } = await authoritySeen(stage, 'each');
    return blockedBy.find(({ consumer }) => consumer === 'each');
  }, 'the blocker');
  expect(blocked.waitsFor).toBe(
    `to load CA generation 2 (${late}: the status document of http://each.default.svc/ lists no CA of this authority in sources[].anchors)`,
  );
  expect((await authoritySeen(stage, 'each')).phase).toBe('Introducing');
  told.add('127.0.0.3');
  await until(async () => (await authoritySeen(stage, 'each')).phase !== 'Introducing', 'the next step');
  await operator.stop();
  for (const [, server] of servers) server.close();
}, 180_000);
