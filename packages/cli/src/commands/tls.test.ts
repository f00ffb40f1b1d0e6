import { rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { connect, endpointSlices, type KubeObject, namespaces, services } from '@handover/kube';
import { FakeApiServer, namespaceObject, temporaryFolder } from '@handover/test-api-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ERROR_LINE, handover } from '../../test/capture.ts';
import { tlsServer } from '../../test/tls-server.ts';

const folder = temporaryFolder({ inMemory: true });
const write = (name: string, content: unknown): string => {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return join(folder, name);
};
const servers: { close(): unknown }[] = [];
const SUITES_1_2 = 'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384';
let modern: string;
let intermediate: string;

beforeAll(async () => {
  const first = await tlsServer({ minVersion: 'TLSv1.3' });
  const second = await tlsServer({ minVersion: 'TLSv1.2', ciphers: SUITES_1_2 });
  servers.push(first.server, second.server);
  modern = `127.0.0.1:${first.port}`;
  intermediate = `localhost:${second.port}`;
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

test('tls check prints a table and exits 0 for a server that matches its profile', async () => {
  const { code, stdout, stderr } = await handover(['tls', 'check', modern, '--profile', 'Modern']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n').slice(0, 7)).toEqual([
    `${modern}: match`,
    '                                  server                     Modern',
    '  TLS 1.0                         refused: protocol_version  forbids it',
    '  TLS 1.1                         refused: protocol_version  forbids it',
    '  TLS 1.2                         refused: protocol_version  forbids it',
    '  TLS 1.3                         accepted                   asks for it',
    '    TLS_AES_256_GCM_SHA384        accepted                   lists it',
  ]);
  expect(stdout).toContain('  a client with this profile gets TLS 1.3, TLS_AES_');
  expect(stdout).toContain('  remark: GROUP_ACCEPTED: accepts groups over TLS 1.3 that');
  expect(stdout).not.toContain('mismatch');
});

test('tls check says what does not match and why, as text and JSON, and exits 1', async () => {
  const { code, stdout } = await handover(['tls', 'check', intermediate, '--profile', 'Modern']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ {2}TLS 1\.2 +accepted with 2 suites +forbids it +<- mismatch$/m);
  expect(stdout).toContain('  mismatch: VERSION_ACCEPTED: accepts TLS 1.2; the profile starts at TLS 1.3\n');
  const json = await handover(['tls', 'check', intermediate, '--profile', 'Modern', '--json']);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    profile: { name: 'Modern', minTLSVersion: 'VersionTLS13', notTried: [] },
    servers: [
      {
        address: intermediate,
        verdict: 'mismatch',
        mismatches: [{ code: 'VERSION_ACCEPTED' }],
        versions: [
          {
            version: 'TLS 1.0',
            profile: 'forbidden',
            outcome: 'refused',
            why: 'protocol_version',
            suites: [],
          },
          { version: 'TLS 1.1' },
          { version: 'TLS 1.2', suites: [{ listed: false }, { listed: false }] },
          { version: 'TLS 1.3', profile: 'asked', outcome: 'accepted' },
        ],
      },
    ],
  });
});

test('tls check compares with Intermediate by default', async () => {
  expect(JSON.parse((await handover(['tls', 'check', intermediate, '--json'])).stdout)).toMatchObject({
    ok: true,
    profile: { name: 'Intermediate' },
  });
  expect((await handover(['tls', 'check', modern])).code).toBe(1);
});

test('tls check reads a custom profile from a file or from standard input, and does not try its unknown names', async () => {
  const custom = {
    ciphers: ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    minTLSVersion: 'VersionTLS13',
  };
  const file = write('profile.json', { ...custom, ciphers: [...custom.ciphers, 'NO-SUCH-SUITE'] });
  const plain = await handover(['tls', 'check', modern, '--profile-file', file]);
  expect(plain.code).toBe(0);
  expect(plain.stdout).toContain('  not tried: NO-SUCH-SUITE: unknown suite or group\n');
  expect(plain.stdout).toMatch(/^ {4}group X448 +accepted +-$/m);
  const stdin = JSON.stringify({ ...custom, groups: ['X25519', 'secp256r1'] });
  const own = await handover(['tls', 'check', modern, '--profile-file', '-'], { stdin });
  expect(own.code).toBe(1);
  expect(own.stdout).toMatch(/^ {4}group X448 +accepted +does not list it +<- mismatch$/m);
  // what the operator writes for Modern is Modern
  const named = JSON.stringify({
    ...custom,
    groups: ['X25519MLKEM768', 'X25519', 'secp256r1', 'secp384r1'],
  });
  expect((await handover(['tls', 'check', modern, '--profile-file', '-'], { stdin: named })).code).toBe(0);
  const bad = await handover(['tls', 'check', modern, '--profile-file', write('bad.json', '{')]);
  expect(bad).toMatchObject({ code: 1, stdout: '' });
  expect(bad.stderr).toMatch(/^TLS_PROFILE_INVALID: /);
});

test('tls check of a server that cannot be checked is one line, or a document with --json; exit 1', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => silent.once('listening', listening));
  servers.push(silent);
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const ran = await handover(['tls', 'check', address, '--timeout', '200ms']);
  expect(ran).toEqual({
    code: 1,
    stdout: '',
    stderr: `TLS_SILENT: ${address}: connected, then no answer within 0.2 s; check the address and port\n`,
  });
  const json = await handover(['tls', 'check', address, '--timeout', '200ms', '--json']);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, servers: [{ verdict: 'unchecked' }] });
  expect((await handover(['tls', 'check', '127.0.0.1:1'])).stderr).toContain(
    'could not connect (ECONNREFUSED)',
  );
});

test.each([
  [['localhost']],
  [['localhost:']],
  [['localhost:0']],
  [['localhost:65536']],
  [['::1:443']],
  [['a b:1']],
  [['xn--\u0000:1']],
  [['mesh/web']],
  [['x:1', '--profile', 'modern']],
  [['x:1', '--profile', 'Old', '--profile-file', 'y']],
  [['x:1', '--starttls', 'gopher']],
  [['x:1', '--servername', 'a b']],
  [['x:1', '--servername', 'a'.repeat(70_000)]],
  [['x:1', '--timeout', 'soon']],
  [['x:1', '--timeout', '1h']],
  [['x:1', '--home', 'dir:.']],
  [['x:1', 'y:1']],
  [['--home', 'kube', 'a/b/c']],
  [['--home', 'kube', 'https://web']],
])('tls check with wrong usage is one line, exit 2: %j', async (args) => {
  const ran = await handover(['tls', 'check', ...args]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toMatch(ERROR_LINE);
});

test('tls check takes an IPv6 address in brackets', async () => {
  const six = await tlsServer({ minVersion: 'TLSv1.3' }, '::1');
  servers.push(six.server);
  const { code, stdout } = await handover(['tls', 'check', `[::1]:${six.port}`, '--profile', 'Modern']);
  expect([code, stdout.split('\n')[0]]).toEqual([0, `[::1]:${six.port}: match`]);
});

describe('handover tls check --home kube', () => {
  let api: FakeApiServer;
  let kubeconfig: string;
  const end = new AbortController();
  const asked = new Set<string>();
  beforeEach(() => asked.clear());
  let port = 0;

  const service = (name: string, spec: object): KubeObject =>
    ({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'mesh' }, spec }) as KubeObject;
  const endpoint = (address: string, pod?: string, ready?: boolean): object => ({
    addresses: [address],
    ...(ready === undefined ? {} : { conditions: { ready } }),
    ...(pod === undefined ? {} : { targetRef: { kind: 'Pod', name: pod, namespace: 'mesh' } }),
  });
  const slice = (
    name: string,
    of: string,
    ports: readonly object[],
    endpoints: readonly object[],
  ): KubeObject =>
    ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace: 'mesh', labels: { 'kubernetes.io/service-name': of } },
      addressType: 'IPv4',
      ports,
      endpoints,
    }) as KubeObject;

  beforeAll(async () => {
    api = await FakeApiServer.start();
    kubeconfig = write('kubeconfig', {
      clusters: [{ name: 'x', cluster: { server: api.config.server } }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      users: [{ name: 'x', user: {} }],
      'current-context': 'x',
    });
    const one = await tlsServer({
      minVersion: 'TLSv1.3',
      SNICallback: (name, done) => {
        asked.add(name);
        done(null);
      },
    });
    port = one.port;
    // the same port on another address of loopback: another pod, which still has the old profile
    const two = await tlsServer({ minVersion: 'TLSv1.2', ciphers: SUITES_1_2 }, '127.0.0.2');
    servers.push(one.server, two.server);
    const kube = connect(api.config, { signal: end.signal });
    await kube.create(namespaces, namespaceObject('mesh'));
    const https = { name: 'https', port: 443, targetPort: 'tls' };
    for (const object of [
      service('web', {
        ports: [https, { name: 'metrics', port: 9090 }, { name: 'dns', port: 53, protocol: 'UDP' }],
      }),
      service('single', { ports: [{ port: 443 }] }),
      service('idle', { ports: [https] }),
      service('elsewhere', { type: 'ExternalName', externalName: 'db.example', ports: [https] }),
    ])
      await kube.create(services, object);
    for (const object of [
      slice(
        'web-1',
        'web',
        [{ name: 'https', port }],
        [endpoint('127.0.0.1', 'web-a', true), endpoint('127.0.0.9', 'web-c', false)],
      ),
      slice('web-2', 'web', [{ name: 'https', port }], [endpoint('127.0.0.1', 'web-a')]),
      slice('web-3', 'web', [{ name: 'https', port: two.port }], [endpoint('127.0.0.2', 'web-b')]),
      slice('web-4', 'web', [{ name: 'metrics', port: 1 }], [endpoint('127.0.0.1', 'web-a')]),
      slice('single-1', 'single', [{ port }], [endpoint('127.0.0.1')]),
      slice('other-1', 'other', [{ port: 1 }], [endpoint('127.0.0.1')]),
      slice('idle-1', 'idle', [{ name: 'https', port }], [endpoint('127.0.0.1', 'idle-a', false)]),
    ])
      await kube.create(endpointSlices, object);
  });
  afterAll(async () => {
    end.abort();
    await api.stop();
  });
  const check = (...args: readonly string[]) =>
    handover(['tls', 'check', '--home', 'kube', '--kubeconfig', kubeconfig, ...args]);

  test.each(['mesh/web:https', 'mesh/web:443'])(
    'tls check of Service %s checks every ready pod once, by its name',
    async (text) => {
      const { code, stdout, stderr } = await check(text, '--profile', 'Modern', '--json');
      expect(code).toBe(1);
      expect(stderr).toBe('skipped, not ready: web-c\n');
      const { servers: seen } = JSON.parse(stdout);
      expect(seen).toMatchObject([
        { pod: 'web-a', verdict: 'match', servername: 'web.mesh.svc', address: `127.0.0.1:${port}` },
        { pod: 'web-b', verdict: 'mismatch' },
      ]);
      expect(seen).toHaveLength(2);
      expect([...asked]).toEqual(['web.mesh.svc']);
    },
  );

  test('tls check of a Service with one port needs no port, and the server name can be another', async () => {
    asked.clear();
    const { code, stdout } = await check('mesh/single', '--profile', 'Modern', '--servername', 'web.example');
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toBe(`127.0.0.1:${port}, server name web.example: match`);
    expect([...asked]).toEqual(['web.example']);
    asked.clear();
    await check('mesh/single', '--servername', 'bücher.example');
    expect([...asked]).toEqual(['xn--bcher-kva.example']);
  });

  test.each([
    ['mesh/web', 2, /^USAGE: mesh\/web has several ports; .*known: https \(443\), metrics \(9090\)\n$/],
    ['mesh/web:dns', 2, /^USAGE: mesh\/web has no TCP port dns; it has https/],
    ['mesh/elsewhere', 2, /^USAGE: .*an alias of db\.example/],
    ['mesh/absent', 1, /^SERVICE_MISSING: Service mesh\/absent does not exist/],
    ['single', 1, /^SERVICE_MISSING: Service default\/single does not exist/],
    ['mesh/idle', 1, /^SERVICE_WITHOUT_PODS: .*not ready: idle-a/],
    ['mesh/web:metrics', 1, /^TLS_UNREACHABLE: .*so run it in the cluster\n$/],
  ])('tls check of Service %s fails in one line', async (text, code, says) => {
    const ran = await check(text);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toMatch(says);
    expect(ran.stderr).toMatch(ERROR_LINE);
  });
});
