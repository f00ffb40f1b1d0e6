// Against: a real API server that serves ClusterTrustBundles in v1 (Kubernetes 1.37) or v1beta1 (1.34), or not at all.
import { configMaps, secrets } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { condition, resource, type Stage, setStage, until } from './stage.ts';

const API = 'certificates.k8s.io';
const NAME = 'example.com:mesh:all';
const DEFAULT = { matchLabels: { 'kubernetes.io/metadata.name': 'default' } };
const OFF = ['v1', 'v1beta1'].map(
  (version) => `--runtime-config=${API}/${version}/clustertrustbundles=false`,
);

interface Stored {
  readonly spec: { readonly signerName: string; readonly trustBundle: string };
  readonly metadata: {
    readonly managedFields: readonly { readonly manager: string; readonly apiVersion: string }[];
  };
}

let stage: Stage;
beforeAll(async () => {
  stage = await setStage({ apiServerFlags: OFF });
  stage.start('one');
  await stage.cluster.apply(
    resource('Authority', 'mesh'),
    resource('Leaf', 'web', { authority: 'mesh', secretName: 'web-tls', dnsNames: ['web.default.svc'] }),
    resource('TrustBundle', 'roots', {
      sources: [{ authority: 'default/mesh' }],
      targets: [
        { clusterTrustBundle: { name: NAME, signerName: 'example.com/mesh' } },
        { configMap: { name: 'roots', key: 'roots.pem', namespaceSelector: DEFAULT } },
      ],
    }),
  );
}, 300_000);
afterAll(() => stage?.stop());

/** The bundle, by kubectl, which knows what this API server serves. */
const stored = async (): Promise<Stored | undefined> => {
  const told = await stage.cluster.kubectl(
    ...['get', 'clustertrustbundles', '--ignore-not-found', '--show-managed-fields', '-o', 'json', NAME],
  );
  return told === '' ? undefined : (JSON.parse(told) as Stored);
};
const roots = async (): Promise<string | undefined> =>
  (await stage.kube.get(configMaps, { namespace: 'default', name: 'roots' }))?.data?.['roots.pem'];

test('without the API, the TrustBundle says which one is missing and everything else goes on', async () => {
  await until(
    () => stage.kube.get(secrets, { namespace: 'default', name: 'web-tls' }),
    'the Secret of the Leaf',
  );
  await until(roots, 'the other target');
  const ready = await until(async () => {
    const found = await condition(stage, 'TrustBundle', 'roots', 'Ready');
    return found?.reason === 'TargetsFailing' && found;
  }, 'the status of the TrustBundle');
  expect(ready).toMatchObject({
    status: 'False',
    message:
      `1 of 2 targets failed, such as ClusterTrustBundle ${NAME}: this API server does not serve ClusterTrustBundles ` +
      '(certificates.k8s.io/v1 or v1beta1); switch the API on, or leave the target out',
  });
});

test('once the API is there, the bundle is written in the newest version that is served', async () => {
  await stage.cluster.apiServer.stop();
  await stage.cluster.apiServer.start({ flags: [] });
  // Asked for once a minute.
  const bundle = await until(stored, 'the ClusterTrustBundle', 180_000);
  expect(bundle.spec).toEqual({ signerName: 'example.com/mesh', trustBundle: await roots() });
  const newest = (await stage.kube.serves(API, 'v1', 'clustertrustbundles')) ? 'v1' : 'v1beta1';
  expect(bundle.metadata.managedFields).toEqual([
    expect.objectContaining({ manager: 'handover', apiVersion: `${API}/${newest}` }),
  ]);
  await until(
    async () => (await condition(stage, 'TrustBundle', 'roots', 'Ready'))?.status === 'True',
    'the TrustBundle to be ready',
  );
});

test('what is edited by hand is put back, so it is watched', async () => {
  const { spec } = (await stored()) as Stored;
  const foreign = JSON.stringify({ spec: { trustBundle: `# by hand\n${spec.trustBundle}` } });
  await stage.cluster.kubectl('patch', 'clustertrustbundles', NAME, '--type=merge', '-p', foreign);
  await until(async () => (await stored())?.spec.trustBundle === spec.trustBundle, 'our bundle again');
});

test('when the API goes away again, the TrustBundle says so, and another Leaf is issued', async () => {
  await stage.cluster.apiServer.stop();
  await stage.cluster.apiServer.start({ flags: OFF });
  await stage.cluster.apply(
    resource('Leaf', 'late', { authority: 'mesh', secretName: 'late-tls', dnsNames: ['late.default.svc'] }),
  );
  await until(
    () => stage.kube.get(secrets, { namespace: 'default', name: 'late-tls' }),
    'the Secret of the Leaf',
  );
  await until(
    async () => (await condition(stage, 'TrustBundle', 'roots', 'Ready'))?.reason === 'TargetsFailing',
    'the status of the TrustBundle',
    180_000,
  );
});
