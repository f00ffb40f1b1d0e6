import { converge, strandedIn, verifyAuthority } from '@handover/engine';
import { configMaps, type Kube, secrets } from '@handover/kube';
import { apiServer } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { homeOn, resourceIn } from '../../test/home.ts';
import type { KubeHome } from './home.ts';

let kube: Kube;
let end: AbortController;
let home: KubeHome;
const resource = (kind: string, name: string, spec: object) => resourceIn('prod', kind, name, spec);

beforeEach(async () => {
  ({ kube, stop: end } = await apiServer({ namespaces: ['prod'] }));
  const declared = [
    resource('Authority', 'mesh', {}),
    resource('Leaf', 'web', { authority: 'mesh', dnsNames: ['web.prod.svc'] }),
  ];
  home = homeOf(declared);
  await home.ready();
  await converge(home, 'prod/mesh');
});

const homeOf = (resources: readonly ReturnType<typeof resource>[]): KubeHome =>
  homeOn({ kube, signal: end.signal, namespace: 'prod', wide: ['secrets', 'configmaps'], resources });

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
