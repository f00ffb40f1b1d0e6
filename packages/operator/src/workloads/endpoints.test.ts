import { parseResources } from '@handover/core';
import { catalogueOf, type Responsibilities, type Whereabouts } from '@handover/engine';
import { type Kube, type KubeObject, pods, services } from '@handover/kube';
import { apiServer, type FakeApiServer } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { Addresses } from './addresses.ts';
import { podsOnly } from './endpoints.ts';

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ server, kube, stop: end } = await apiServer({ namespaces: ['prod', 'evil'] }));
});

const pod = async (namespace: string, name: string, ip: string, more: object = {}): Promise<string> => {
  const made = await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', ports: [{ name: 'tls', containerPort: 8443 }] }], ...more },
    status: { phase: 'Running', podIP: ip, hostIP: '10.9.0.1' },
  } as KubeObject);
  await kube.patch(
    pods,
    { namespace, name, subresource: 'status' },
    { merge: { status: { phase: 'Running', podIP: ip, hostIP: '10.9.0.1' } } },
  );
  return made.metadata.uid ?? '';
};
const service = async (spec: object = {}, name = 'web', namespace = 'prod'): Promise<void> => {
  await kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: {
      selector: { app: 'web' },
      ports: [
        { port: 443, targetPort: 'tls' },
        { port: 80, targetPort: 9901 },
      ],
      ...spec,
    },
  } as KubeObject);
};

const locate = async (consumer: object, networks: readonly string[] = []): Promise<Whereabouts> => {
  const [authority] = catalogueOf(
    parseResources([
      {
        value: {
          apiVersion: 'handover.dev/v1alpha1',
          kind: 'Authority',
          metadata: { name: 'mesh', namespace: 'prod' },
          spec: { consumers: [{ name: 'web', presents: true, ...consumer }] },
        },
        where: 'test',
      },
    ]),
  ).authorities.values();
  if (authority === undefined) throw new Error('no authority');
  const [declared] = authority.spec.consumers;
  if (declared === undefined) throw new Error('no consumer');
  const addresses = new Addresses(networks).sparing('https://10.96.0.1:443');
  return podsOnly({ kube, addresses, signal: end.signal })({ authority } as Responsibilities)(declared);
};
const probe = (address: string) => ({ probe: { address } });
const status = (url: string) => ({ status: { url } });
const metrics = (url: string) => ({ metrics: { url } });
const paths = () => server.requests.map(({ path }) => path);

test.each(['web', 'web.prod', 'web.prod.svc', 'web.prod.svc.cluster.local'])(
  'a Service of the Authority’s own namespace named %s leads to every pod behind it, by its address and port',
  async (host) => {
    const uids = [await pod('prod', 'a', '10.1.0.1'), await pod('prod', 'b', '10.1.0.2')];
    await pod('evil', 'c', '10.1.0.3');
    await service();
    const found = await locate({ ...probe(`${host}:443`), ...status(`http://${host}/`) });
    expect(found).toEqual({
      endpoints: [1, 2].map((number) => ({
        uid: uids[number - 1],
        status: { url: `http://${host}/`, at: { ip: `10.1.0.${number}`, port: 9901 } },
        probe: {
          address: `${host}:443`,
          mtls: false,
          at: { ip: `10.1.0.${number}`, port: 8443 },
        },
      })),
    });
  },
);

test.each(['http://web/', 'http://web/metrics', 'http://web.prod/stats/prometheus'])(
  'the metrics of a consumer at %s are asked for at every pod behind its Service, with what else it declares',
  async (url) => {
    await service();
    const uid = await pod('prod', 'a', '10.1.0.1');
    const at = { ip: '10.1.0.1', port: 9901 };
    expect(await locate({ ...metrics(url), ...status('http://web/') })).toEqual({
      endpoints: [{ uid, metrics: { url, at }, status: { url: 'http://web/', at } }],
    });
  },
);

test('a Service leads to a pod without an address too, so that the pod is waited for', async () => {
  await service();
  const uid = await pod('prod', 'a', '');
  expect(await locate(probe('web:443'))).toEqual({ endpoints: [{ uid }] });
});

test('a Service leads to no pods that have ended: another pod may have their address', async () => {
  await service();
  await pod('prod', 'a', '10.1.0.1');
  await pod('prod', 'b', '10.1.0.2');
  await kube.patch(
    pods,
    { namespace: 'prod', name: 'b', subresource: 'status' },
    { merge: { status: { phase: 'Succeeded' } } },
  );
  expect(await locate(probe('web:443'))).toMatchObject({
    endpoints: [{ probe: { at: { ip: '10.1.0.1' } } }],
  });
});

test('a Service without a cluster IP is asked on the port that is named', async () => {
  await service({ clusterIP: 'None' });
  await pod('prod', 'a', '10.1.0.1');
  expect(await locate(probe('web:7000'))).toMatchObject({
    endpoints: [{ probe: { at: { ip: '10.1.0.1', port: 7000 } } }],
  });
});

test.each([
  ['of type ExternalName', { type: 'ExternalName', externalName: 'localhost' }, /ExternalName/],
  ['without a selector', { selector: {} }, /has no selector/],
  ['that selects nothing', { selector: { app: 'other' } }, /selects no pod/],
  ['without the port', { ports: [{ port: 1 }] }, /has no port 443/],
  [
    'that leads to a port without a pod',
    { ports: [{ port: 443, targetPort: 'x' }] },
    /"x", which pod a does not have/,
  ],
])('a Service %s is refused', async (_, spec, why) => {
  await service(spec);
  await pod('prod', 'a', '10.1.0.1');
  expect(await locate(probe('web:443'))).toEqual({ refused: expect.stringMatching(why) });
});

test.each([
  ['on the network of its node', '10.1.0.1', { hostNetwork: true }, /hostNetwork/],
  ['with the address of its node', '10.9.0.1', {}, /hostNetwork/],
  ['at a loopback address', '127.0.0.1', {}, /loopback/],
  ['at the API server’s address', '10.96.0.1', {}, /10\.96\.0\.1 is the API server's own address/],
  ['at a link-local address', '169.254.169.254', {}, /link-local/],
])('a Service with a pod %s is refused as a whole', async (_, ip, more, why) => {
  await service();
  await pod('prod', 'a', '10.1.0.1');
  await pod('prod', 'b', ip, more);
  expect(await locate(probe('web:443'))).toEqual({ refused: expect.stringMatching(why) });
});

test.each([
  ['a file', { status: { file: '/dev/zero' } }, /opens no status\.file/],
  ['a socket', { status: { socket: '/run/docker.sock' } }, /no status\.socket/],
  ['a Service of another namespace', probe('web.evil.svc:443'), /not a Service of namespace prod/],
  ['a Service that is not there', probe('gone:443'), /there is no Service prod\/gone/],
  ['a name of the world', probe('metadata.google.internal:80'), /not a Service of namespace prod/],
  ['loopback', probe('127.0.0.1:8081'), /loopback/],
  ['loopback in one number', status('http://2130706433:8081/'), /loopback/],
  ['the API server', probe('10.96.0.1:443'), /is the API server's own address; name a Service/],
  ['localhost', probe('localhost:8081'), /there is no Service prod\/localhost/],
  ['a link-local address', status('http://169.254.169.254/'), /link-local/],
  ['an IPv4 address in disguise', probe('[::ffff:169.254.169.254]:80'), /written as IPv6/],
  ['an address that is no pod', probe('10.3.0.9:443'), /not a pod of namespace prod/],
  ['a pod of another namespace', probe('10.1.0.3:443'), /not a pod of namespace prod/],
  ['a path of its own', status('http://web/admin'), /\/handover\/status only/],
  ['a path of its own for metrics', metrics('http://web/admin'), /\/metrics or \/prometheus only/],
  ['a path that leads elsewhere', metrics('http://web/%2e%2e/a/..%2fmetrics'), /\/prometheus only/],
  ['a query beside metrics', metrics('http://web/metrics?x=1'), /\/prometheus only/],
  ['metrics of another namespace', metrics('http://web.evil.svc/'), /not a Service of namespace prod/],
  ['a query of its own', status('http://web/handover/status?x=1'), /\/handover\/status only/],
])('a consumer at %s is refused, with a reason', async (_, consumer, why) => {
  await service();
  await service({}, 'web', 'evil');
  await pod('prod', 'a', '10.1.0.1');
  await pod('evil', 'c', '10.1.0.3');
  expect(await locate(consumer)).toEqual({ refused: expect.stringMatching(why) });
  expect(paths().filter((path) => path.includes('/namespaces/evil/services/'))).toEqual([]);
});

test.each(['10.1.0.1', 'fd12::1', 'FD12:0::1'])(
  'a consumer at the address of a pod of the Authority’s own namespace is asked: %s',
  async (ip) => {
    const uid = await pod('prod', 'a', '10.1.0.1');
    await kube.patch(
      pods,
      { namespace: 'prod', name: 'a', subresource: 'status' },
      { merge: { status: { podIPs: [{ ip: '10.1.0.1' }, { ip: 'fd12::1' }] } } },
    );
    expect(await locate(probe(ip.includes(':') ? `[${ip}]:9000` : `${ip}:9000`))).toMatchObject({
      endpoints: [{ uid, probe: { at: { ip, port: 9000 } } }],
    });
  },
);

test('a consumer outside the cluster is asked if the operator’s flag names its network', async () => {
  const named = ['192.0.2.0/24', '127.0.0.0/8'];
  expect(await locate(probe('192.0.2.7:5432'), named)).toMatchObject({
    endpoints: [{ probe: { at: { ip: '192.0.2.7', port: 5432 } } }],
  });
  expect(await locate(probe('198.51.100.1:5432'), named)).toHaveProperty('refused');
  expect(await locate(probe('127.0.0.1:5432'), named)).toHaveProperty('refused');
  expect(await locate(probe('db.example.com:5432'), named)).toHaveProperty('refused');
});

test('a consumer is refused with the reason if the operator may not read Services', async () => {
  server.faults.add({
    when: ({ path }) => path.endsWith('/services/web'),
    status: 403,
    reason: 'Forbidden',
    message: 'no right to get services',
  });
  expect(await locate(probe('web:443'))).toEqual({
    refused: expect.stringMatching(/no right to get services/),
  });
});
