import { type ApiRequest, allowed, grantsFor, unused } from '@handover/install';
import { apiServices, deployments, pods, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playKubelet } from './played-kubelet.ts';
import { resource, type Stage, setStage, until } from './stage.ts';

// Pods that no node runs: the API server and its controllers are real, and this test plays the kubelet.
let stage: Stage;
let kubelet: ReturnType<typeof playKubelet>;
const SIGNERS = ['example.com/mesh'];

beforeAll(async () => {
  stage = await setStage({ controllerManager: true, installed: { signers: SIGNERS } });
  stage.start('one');
  kubelet = playKubelet(stage.kube);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

const deployment = (
  name: string,
  annotations: Record<string, string>,
  container: object,
  volumes: object[] = [],
): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name }, annotations: { 'example.com/keep': 'me', ...annotations } },
      spec: { containers: [{ name: 'main', image: 'none', ...container }], volumes },
    },
  },
});
const leaf = (name: string): object =>
  resource('Leaf', name, { authority: 'mesh', secretName: name, dnsNames: [`${name}.default.svc`] });
const volume = (secretName: string): object => ({ name: 'tls', secret: { secretName } });
const mount = { volumeMounts: [{ name: 'tls', mountPath: '/tls' }] };

interface AuthorityStatus {
  readonly phase?: string;
  readonly generations?: readonly { readonly generation: number; readonly role: string }[];
  readonly blockedBy?: readonly { readonly consumer: string; readonly waitsFor: string }[];
}
const statusOf = async (): Promise<AuthorityStatus> =>
  ((await stage.kube.get(RESOURCE_KINDS.Authority, { namespace: 'default', name: 'mesh' }))?.status ??
    {}) as AuthorityStatus;
const rotate = (id: string): Promise<string> =>
  stage.cluster.kubectl('annotate', 'authority/mesh', `handover.dev/rotate=${id}`, '--overwrite');
const stampOf = async (name: string): Promise<string | undefined> => {
  const found = await stage.kube.get(deployments, { namespace: 'default', name });
  const spec = found?.spec as
    | { template: { metadata: { annotations?: Record<string, string> } } }
    | undefined;
  return spec?.template.metadata.annotations?.['handover.dev/trust-hash'];
};
const isStable = (generation: number) => async (): Promise<boolean> => {
  const { phase, generations } = await statusOf();
  return phase === 'Stable' && generations?.length === 1 && generations[0]?.generation === generation;
};

test('a rotation names the pods without evidence and waits for them, rolls a restart-only workload once, and ends', async () => {
  await stage.cluster.apply(
    resource('Authority', 'mesh', { rotation: { reloadWithin: '5s' } }),
    leaf('frozen'),
    leaf('hot'),
    leaf('silent'),
  );
  await until(() => stage.kube.get(secrets, { namespace: 'default', name: 'silent' }), 'the Secrets');
  await stage.cluster.apply(
    deployment(
      'frozen',
      {},
      { env: [{ name: 'CA', valueFrom: { secretKeyRef: { name: 'frozen', key: 'tls.crt' } } }] },
    ),
    deployment('hot', { 'handover.dev/reload': 'hot' }, mount, [volume('hot')]),
    deployment('silent', {}, mount, [volume('silent')]),
  );
  await until(
    async () => {
      const { items } = await stage.kube.list(pods, { namespace: 'default' });
      return (
        items.length === 6 && items.every(({ status }) => (status as { phase?: string }).phase === 'Running')
      );
    },
    'six running pods',
    120_000,
  );
  expect(await stampOf('frozen')).toBeUndefined();
  await rotate('one');
  await until(async () => (await statusOf()).phase === 'Activating', 'the new CA to sign', 120_000);
  await until(
    async () => {
      const { blockedBy = [] } = await statusOf();
      return (
        blockedBy.length > 0 && blockedBy.every(({ consumer }) => consumer === 'Deployment default/silent')
      );
    },
    'only the silent one to be waited for',
    180_000,
  );
  expect(await stampOf('frozen')).toMatch(/^default\/mesh=2\.0\.2-/);
  expect(await stampOf('hot')).toBeUndefined();
  expect(await stampOf('silent')).toBeUndefined();
  await stage.cluster.kubectl('rollout', 'restart', 'deployment/silent');
  await until(isStable(2), 'the rotation to end', 180_000);
  const restarts = [...kubelet.seen.values()].filter((name) => name.startsWith('frozen-')).length;
  expect(restarts).toBe(4);
  expect([...kubelet.seen.values()].filter((name) => name.startsWith('hot-'))).toHaveLength(2);
}, 600_000);

test('every other kind of target is managed with the rights of the installation, and drift repaired', async () => {
  const clientConfig = { service: { name: 'hook', namespace: 'default', path: '/' } };
  const webhooks = [
    { name: 'a.example.com', clientConfig, admissionReviewVersions: ['v1'], sideEffects: 'None' },
  ];
  const spec = {
    sources: [{ authority: 'default/mesh' }],
    targets: [
      {
        secret: {
          name: 'trust',
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
        },
      },
      { clusterTrustBundle: { name: 'example.com:mesh:main', signerName: 'example.com/mesh' } },
      { inject: { kind: 'ValidatingWebhookConfiguration', name: 'check' } },
      { inject: { kind: 'MutatingWebhookConfiguration', name: 'change' } },
      { inject: { kind: 'APIService', name: 'v1.data.example.com' } },
      { inject: { kind: 'CustomResourceDefinition', name: 'things.example.com' } },
    ],
  };
  const names = { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object' } },
  };
  const conversion = { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } };
  await stage.cluster.apply(
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'check' },
      webhooks,
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'change' },
      webhooks,
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1.data.example.com' },
      spec: {
        group: 'data.example.com',
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        service: { name: 'api', namespace: 'default' },
      },
    },
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.com' },
      spec: { group: 'example.com', names, scope: 'Namespaced', conversion, versions: [version] },
    },
    resource('TrustBundle', 'all', spec),
    resource('TLSProfile', 'modern', { type: 'Modern', configMapName: 'tls' }),
  );
  await stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    'trustbundle/all',
    'tlsprofile/modern',
    '--timeout=120s',
  );
  await stage.cluster.kubectl(
    'patch',
    'apiservice',
    'v1.data.example.com',
    '--type=json',
    '-p',
    '[{"op":"remove","path":"/spec/caBundle"}]',
  );
  await until(async () => {
    const found = await stage.kube.get(apiServices, { name: 'v1.data.example.com' });
    return (found?.spec as { caBundle?: string } | undefined)?.caBundle !== undefined;
  }, 'the repair');
});

/** Rights that this short test does not use, with their use. */
const EXPECTED_IDLE = [
  /^list /, // API servers that cannot stream lists
  /^get .*(apiservices|webhookconfigurations|customresourcedefinitions|clustertrustbundles) /, // after a lost race
  /^patch apps\/(statefulsets|daemonsets) /, // as Deployments
  /^patch certificates.k8s.io\/clustertrustbundles /, // at the next rotation
  /^attest /, // asked by the API server itself
  /^create configmaps in /, // apply does it
  /^patch events /, // when the same happens again a minute later
  /^get services /, // where an Authority names one: tenant-addresses.test.ts
  / cert-manager\.io\//, // where cert-manager is installed: test/field/cert-manager, with these rights
];

test('the operator makes no request that the installation does not allow, and uses every right', () => {
  const granted = grantsFor({ namespace: 'handover-system', signers: SIGNERS });
  const asked: ApiRequest[] = stage.requests
    .filter(({ resource: kind }) => kind !== '')
    .map(({ verb, group, resource: kind, subresource, namespace, name }) => ({
      verb: verb === 'apply' ? 'patch' : verb,
      group,
      resource: kind,
      ...(subresource === '' ? {} : { subresource }),
      ...(namespace === '' ? {} : { namespace }),
      // A watch of one object by its name is authorized by that name.
      ...(kind === 'leases' && verb !== 'create' ? { name: 'handover' } : name === '' ? {} : { name }),
    }));
  expect(stage.requests.filter(({ status }) => status === 403)).toEqual([]);
  expect(asked.filter((request) => !allowed(granted, request))).toEqual([]);
  expect(unused(granted, asked).filter((right) => !EXPECTED_IDLE.some((idle) => idle.test(right)))).toEqual(
    [],
  );
});
