import { parseResources } from '@handover/core';
import { converge, strandedIn, verifyAuthority } from '@handover/engine';
import { configMaps, connect, type Kube, namespaces, secrets } from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { kindsWith } from '../objects/kinds.ts';
import { GivenResources } from '../resources/declarations.ts';
import { KubeHome } from './home.ts';

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
let home: KubeHome;
const resource = (kind: string, name: string, spec: object) => ({
  value: { apiVersion: 'handover.dev/v1alpha1', kind, metadata: { name, namespace: 'prod' }, spec },
  where: name,
});

beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  kube = connect(server.config, { signal: end.signal, rate: false });
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'prod' } });
  const declared = [
    resource('Authority', 'mesh', {}),
    resource('Leaf', 'web', { authority: 'mesh', dnsNames: ['web.prod.svc'] }),
  ];
  home = homeOf(declared);
  home.start(end.signal);
  await home.ready();
  await converge(home, 'prod/mesh');
});

const homeOf = (declared: readonly ReturnType<typeof resource>[]): KubeHome =>
  new KubeHome({
    connection: { kube, signal: end.signal },
    scope: {
      kinds: kindsWith({ version: 'v1' }),
      namespace: 'prod',
      trustNamespace: 'prod',
      wide: ['secrets', 'configmaps'],
    },
    resources: {
      declarations: new GivenResources(parseResources(declared)),
      clusterTrustBundles: () => false,
      injectionOf: undefined,
      takeOver: false,
    },
    consumers: { found: false },
  });
afterEach(async () => {
  end.abort();
  await server.stop();
});

const problems = async (): Promise<readonly string[]> =>
  (await verifyAuthority(home, await home.fresh(), 'prod/mesh')).problems.map(
    ({ object, problem }) => `${object}: ${problem}`,
  );

test('A Secret and a ConfigMap that are whole have no problem', async () => {
  expect(await problems()).toEqual([]);
});

test.each([
  ['tls.key', 'anVuaw==', /^prod\/secrets\/web: tls\.key cannot be read: /],
  ['tls.key', null, /^prod\/secrets\/web: tls\.key is (missing|empty)$/],
  ['tls.crt', 'anVuaw==', /^prod\/secrets\/web: tls\.crt holds no certificate$/],
  ['ca.crt', null, /^prod\/secrets\/web: ca\.crt is missing$/],
])('A Secret whose %s is %s is named', async (name, value, says) => {
  await kube.patch(secrets, { namespace: 'prod', name: 'web' }, { merge: { data: { [name]: value } } });
  expect(await problems()).toEqual([expect.stringMatching(says)]);
});

test('A Secret that was deleted is named, and so is a bundle', async () => {
  await kube.delete(secrets, { namespace: 'prod', name: 'web' });
  await kube.delete(configMaps, { namespace: 'prod', name: 'mesh-trust' });
  expect(await problems()).toEqual([
    'prod/secrets/web: tls.crt, tls.key and ca.crt are missing',
    'prod/configmaps/mesh-trust/ca.crt: ca.crt is missing',
  ]);
});

const strandedAfterRename = async (): Promise<readonly string[]> => {
  const renamed = homeOf([resource('Authority', 'corp', {})]);
  renamed.start(end.signal);
  await renamed.ready();
  return (await strandedIn(await renamed.fresh())).map(({ object }) => object);
};

test('Objects of an Authority that is no longer declared are named', async () => {
  expect(await strandedIn(await home.fresh())).toEqual([]);
  expect(await strandedAfterRename()).toEqual(['prod/configmaps/mesh-trust/ca.crt', 'prod/secrets/web']);
});

test('A record that was copied to another object names nothing', async () => {
  const own = await kube.get(configMaps, { namespace: 'prod', name: 'mesh-trust' });
  const { labels = {}, annotations = {} } = own?.metadata ?? {};
  await kube.create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'prod', name: 'copied', labels, annotations },
    data: { 'ca.crt': '' },
  });
  expect(await strandedAfterRename()).not.toContain('prod/configmaps/copied/ca.crt');
});
