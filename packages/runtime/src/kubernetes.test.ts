import { parseCertificates } from '@handover/material';
import { beforeEach, describe, expect, test } from 'vitest';
import { loadClientNode1, loadClientNode2 } from '../test/client-node.ts';
import { files, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually, httpsServer, ok, type Target, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';
import { hotKubeConfig, inCluster, kubeConfigSources } from './kubernetes.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

describe.each([
  ['1', loadClientNode1],
  ['2', loadClientNode2],
])('hotKubeConfig with client-node %s', (_, load) => {
  const make = async (target: Target, cluster: object, user: object) => {
    const { CoreV1Api, KubeConfig } = await load();
    const kc = new KubeConfig();
    kc.loadFromClusterAndUser(
      { name: 'c', server: target.url, skipTLSVerify: false, ...cluster },
      { name: 'u', ...user },
    );
    const hot = await hotKubeConfig(kc, { signal: scope.signal });
    expect(hot).toBe(kc);
    const api = hot.makeApiClient(CoreV1Api);
    return { kc: hot, list: () => api.listNamespacedPod({ namespace: 'default' }) };
  };

  test('S2.11: the next request carries the new token; a failed read keeps the last', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem, token: 'first' });
    const target = scope.add(await httpsServer(one));
    const { list } = await make(
      target,
      { caFile: volume.path('ca.crt') },
      { authProvider: { name: 'tokenFile', config: { tokenFile: volume.path('token') } } },
    );
    await list();
    expect(target.seen.at(-1)).toBe('Bearer first');
    volume.write({ 'ca.crt': one.pem, token: 'second' });
    await eventually(async () => {
      await list();
      return target.seen.at(-1) === 'Bearer second';
    });
    volume.write({ 'ca.crt': one.pem, token: '' });
    for (let i = 0; i < 5; i++) await list();
    expect(target.seen.at(-1)).toBe('Bearer second');
  });

  test('hotKubeConfig uses a CA file, and not the inline data beside it', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const target = scope.add(await httpsServer(one));
    const caData = (ca: MockCa) => Buffer.from(ca.pem).toString('base64');
    const { list } = await make(target, { caFile: volume.path('ca.crt'), caData: caData(two) }, {});
    await list();
    volume.write({ 'ca.crt': two.pem });
    await eventually(async () => {
      target.cut();
      return UNKNOWN_AUTHORITY.test(await wordsOf(list()));
    });
    const inline = await make(target, { caData: caData(one) }, {});
    await inline.list();
  });

  test('hotKubeConfig follows the files of the client certificate', async () => {
    const volume = scope.volume(files(one.leaf(), one));
    const target = scope.add(
      await httpsServer(one, { requestCert: true, rejectUnauthorized: true, ca: one.pem + two.pem }),
    );
    const { list } = await make(
      target,
      { caFile: volume.path('ca.crt') },
      { certFile: volume.path('tls.crt'), keyFile: volume.path('tls.key') },
    );
    await list();
    const shown: string[] = [];
    target.server.on('secureConnection', (socket) =>
      shown.push(String(socket.getPeerCertificate().issuer.CN)),
    );
    volume.write(files(two.leaf(), one));
    await eventually(async () => {
      await ok(list());
      return shown.some((issuer) => issuer.startsWith('two'));
    });
  });

  test('hotKubeConfig tells which CA, certificate and token it has loaded, of each context that is in use', async () => {
    const volume = scope.volume({ ...files(one.leaf(), one), token: 'first' });
    const target = scope.add(await httpsServer(one));
    const { kc, list } = await make(
      target,
      { caFile: volume.path('ca.crt') },
      {
        certFile: volume.path('tls.crt'),
        keyFile: volume.path('tls.key'),
        authProvider: { name: 'tokenFile', config: { tokenFile: volume.path('token') } },
      },
    );
    const sources = kubeConfigSources(kc);
    const statuses = () => sources.map((source) => source.status());
    const loaded = ({ pem }: MockCa) => [parseCertificates(pem).certificates[0]?.fingerprint];
    expect(statuses()).toMatchObject([
      { kind: 'trust', path: volume.path('ca.crt'), anchors: loaded(one) },
      { kind: 'identity', path: volume.path('tls.crt') },
      { kind: 'token' },
    ]);
    volume.write({ ...files(two.leaf(), two), token: 'second' });
    await eventually(async () => statuses()[0]?.anchors?.[0] === loaded(two)[0]);
    const caData = Buffer.from(one.pem).toString('base64');
    kc.addCluster({ name: 'inline', server: target.url, caData, skipTLSVerify: false });
    kc.addUser({ name: 'plain' });
    kc.addContext({ name: 'inline', cluster: 'inline', user: 'plain' });
    kc.setCurrentContext('inline');
    await list();
    expect(statuses()[3]).toMatchObject({ path: 'caData of cluster inline', anchors: loaded(one), loads: 1 });
    expect(() => kubeConfigSources({ ...kc } as never)).toThrow(/hotKubeConfig/);
  });

  test('hotKubeConfig pools connections', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const target = scope.add(await httpsServer(one));
    const { list } = await make(target, { caFile: volume.path('ca.crt') }, {});
    for (let i = 0; i < 20; i++) await list();
    expect(target.handshakes()).toBeLessThanOrEqual(2);
  });

  test('hotKubeConfig leaves inline data, basic auth, static tokens and impersonation working as before', async () => {
    const target = scope.add(await httpsServer(one, { requestCert: true, rejectUnauthorized: false }));
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const leaf = one.leaf();
    const caData = base64(one.pem);
    await (await make(target, { caData }, { certData: base64(leaf.cert), keyData: base64(leaf.key) })).list();
    await (await make(target, { caData }, { token: 'static' })).list();
    expect(target.seen.at(-1)).toBe('Bearer static');
    await (await make(target, { caData }, { username: 'u', password: 'p' })).list();
    expect(target.seen.at(-1)).toBe(`Basic ${base64('u:p')}`);
    const stranger = await make(target, { caData: base64(two.pem) }, {});
    expect(await wordsOf(stranger.list())).toMatch(UNKNOWN_AUTHORITY);
    await expect(make(target, { caData: base64('nonsense') }, {})).rejects.toMatchObject({
      code: 'BUNDLE_EMPTY',
    });
  });

  test('hotKubeConfig verifies tls-server-name instead of the host', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const target = scope.add(await httpsServer(one));
    const cluster = { caFile: volume.path('ca.crt'), tlsServerName: 'elsewhere.test' };
    const { list } = await make(target, cluster, {});
    expect(await wordsOf(list())).toMatch(/altname|does not match/i);
    await (await make(target, { ...cluster, tlsServerName: 'localhost' }, {})).list();
  });

  test('hotKubeConfig opens another context when it is first used; one that cannot be opened is an error, not a crash', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const target = scope.add(await httpsServer(one));
    const { kc, list } = await make(target, { caFile: volume.path('ca.crt') }, {});
    kc.addCluster({ name: 'other', server: target.url, caFile: '/nowhere/ca.crt', skipTLSVerify: false });
    kc.addContext({ name: 'other', cluster: 'other', user: 'u' });
    kc.setCurrentContext('other');
    expect(await wordsOf(list())).toContain('FILE_MISSING');
    kc.setCurrentContext('loaded-context');
    await list();
  });

  test('hotKubeConfig fails with an error that names the path if the first load fails', async () => {
    const target = scope.add(await httpsServer(one));
    await expect(make(target, { caFile: '/nowhere/ca.crt' }, {})).rejects.toMatchObject({
      code: 'FILE_MISSING',
      path: '/nowhere/ca.crt',
    });
  });

  test('hotKubeConfig shows a certificate from an exec plugin', async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const target = scope.add(
      await httpsServer(one, { requestCert: true, rejectUnauthorized: true, ca: one.pem }),
    );
    const leaf = one.leaf();
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { clientCertificateData: leaf.cert, clientKeyData: leaf.key },
    };
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', `console.log(${JSON.stringify(JSON.stringify(credential))})`],
    };
    const { list } = await make(target, { caFile: volume.path('ca.crt') }, { exec });
    await list();
    await list();
    expect(target.handshakes()).toBeLessThanOrEqual(2);
  });
});

describe('inCluster', () => {
  const account = () => scope.volume({ 'ca.crt': one.pem, token: 'token-1', namespace: 'team-a\n' });

  test('S2.11: inCluster reads the service account and reaches the API server with a token that follows its file; a failed read keeps the last', async () => {
    const volume = account();
    const target = scope.add(await httpsServer(one));
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(target.port) };
    const cluster = await inCluster({ directory: volume.dir, env, signal: scope.signal });
    expect(cluster).toMatchObject({ server: `https://127.0.0.1:${target.port}`, namespace: 'team-a' });
    expect(await (await cluster.fetch('/api/v1/pods')).json()).toMatchObject({ kind: 'PodList' });
    expect(target.seen.at(-1)).toBe('Bearer token-1');
    volume.write({ 'ca.crt': one.pem, token: 'token-2', namespace: 'team-a' });
    await eventually(async () => {
      await (await cluster.fetch('/api/v1/pods')).text();
      return target.seen.at(-1) === 'Bearer token-2';
    });
    volume.write({ 'ca.crt': one.pem, token: '', namespace: 'team-a' });
    expect(await cluster.token.reload()).toMatchObject({ reason: 'empty' });
    await (await cluster.fetch('/api/v1/pods')).text();
    expect(target.seen.at(-1)).toBe('Bearer token-2');
    expect(() => cluster.fetch('https://elsewhere.test/')).toThrow(/not the API server/);
  });

  test('inCluster outside a pod is an error that says so', async () => {
    await expect(inCluster({ env: {} })).rejects.toMatchObject({ code: 'NOT_IN_CLUSTER' });
  });

  test('inCluster puts an IPv6 host in brackets', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '::1', KUBERNETES_SERVICE_PORT: '443' };
    const { server } = await inCluster({ directory: account().dir, env, signal: scope.signal });
    expect(server).toBe('https://[::1]:443');
  });
});
