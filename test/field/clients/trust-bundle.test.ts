// ClusterTrustBundles on a real kubelet: which pods read them, and how old what they read can be.
// Against: a kubelet that projects ClusterTrustBundles.
import type { AuthorityStatus, Status } from '@handover/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, until } from '../../../packages/operator/test/cluster/stage.ts';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';

const NAMESPACE = 'mesh';
const BUNDLE = 'example.com:mesh:main';
const LONG = 900_000;
const SOURCES = {
  'by-name': { name: BUNDLE },
  'by-signer': { signerName: 'example.com/mesh', labelSelector: { matchLabels: { use: 'mesh' } } },
  // Reads another bundle of the same signer.
  'by-other-label': { signerName: 'example.com/mesh', labelSelector: { matchLabels: { use: 'other' } } },
} as const;
const READERS = ['by-name', 'by-signer'] as const;

let stage: RotationStage;

const reader = (name: keyof typeof SOURCES): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: NAMESPACE },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    // Old pods stay until the new one runs: both are asked.
    strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'main',
            image: 'localhost/busybox:1',
            imagePullPolicy: 'Never',
            command: ['sh', '-c', 'sleep 100000'],
            volumeMounts: [{ name: 'trust', mountPath: '/trust' }],
          },
        ],
        volumes: [
          {
            name: 'trust',
            projected: {
              sources: [{ clusterTrustBundle: { ...SOURCES[name], path: 'ca.crt', optional: true } }],
            },
          },
        ],
      },
    },
  },
});

/** The right to publish bundles of this signer, as an installation with this signer would grant it. */
const attesting = (): readonly object[] => [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'attest' },
    rules: [
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: ['example.com/mesh'],
        verbs: ['attest'],
      },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'attest' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'attest' },
    subjects: [{ kind: 'ServiceAccount', name: 'handover', namespace: 'handover-system' }],
  },
];

const rolledOut = (name: string): Promise<string> =>
  stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'status', `deployment/${name}`, '--timeout=300s');

const status = async (): Promise<AuthorityStatus> => {
  const told = await stage.handover('status', `${NAMESPACE}/mesh`, '--home', 'kube', '--json');
  const [authority] = (JSON.parse(told) as Status).authorities;
  if (authority === undefined) throw new Error('no status');
  return authority;
};

const anchorsIn = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;
const held = (name: string): Promise<number> =>
  stage.cluster
    .kubectl('-n', NAMESPACE, 'exec', `deployment/${name}`, '--', 'cat', '/trust/ca.crt')
    .then(anchorsIn, () => 0);

beforeAll(async () => {
  stage = await setRotationStage();
  await stage.cluster.kubectl('create', 'namespace', NAMESPACE);
  await stage.cluster.apply(...attesting());
  stage.startOperator();
  await stage.cluster.apply(
    resource('Authority', 'mesh', { rotation: { reloadWithin: '20s' } }, NAMESPACE),
    resource('TrustBundle', 'mesh', {
      sources: [{ authority: `${NAMESPACE}/mesh` }],
      targets: [{ clusterTrustBundle: { name: BUNDLE, signerName: 'example.com/mesh' } }],
    }),
  );
  await until(
    () => stage.cluster.kubectl('get', 'clustertrustbundle', BUNDLE).catch(() => undefined),
    'the bundle',
    LONG,
  );
  await stage.cluster.kubectl('label', 'clustertrustbundle', BUNDLE, 'use=mesh');
  const names = Object.keys(SOURCES) as (keyof typeof SOURCES)[];
  await stage.cluster.apply(...names.map(reader));
  for (const name of names) await rolledOut(name);
  for (const name of READERS) await until(async () => (await held(name)) === 1, `the file of ${name}`, LONG);
}, 1_800_000);
afterAll(() => stage?.stop());

test('pods that read a ClusterTrustBundle by its signer and labels are found, as those that name it', async () => {
  const found = await until(
    async () => {
      const names = (await status()).consumers.map(({ name }) => name);
      return names.includes(`Deployment ${NAMESPACE}/by-name`) ? names : undefined;
    },
    'the consumers',
    LONG,
  );
  for (const name of READERS) expect(found).toContain(`Deployment ${NAMESPACE}/${name}`);
  expect(found).not.toContain(`Deployment ${NAMESPACE}/by-other-label`);
});

test('a step waits for longer than a kubelet hands out a ClusterTrustBundle of before, to new pods too', async () => {
  await stage.handover('rotate', `${NAMESPACE}/mesh`, '--home', 'kube', '--id', 'one');
  await until(
    async () =>
      anchorsIn(await stage.cluster.kubectl('get', 'clustertrustbundle', BUNDLE, '-o', 'yaml')) === 2,
    'both CAs in the bundle',
    LONG,
  );
  const written = Date.now();
  const after = (): string => `${((Date.now() - written) / 1000).toFixed(0)} s`;
  // More than the lag of Secrets and ConfigMaps, then a pod that starts from what the kubelet has.
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  for (const name of READERS)
    await stage.cluster.kubectl('-n', NAMESPACE, 'rollout', 'restart', `deployment/${name}`);
  for (const name of READERS) await rolledOut(name);
  const seen = new Map<string, string>();
  for (const name of READERS) {
    const count = await held(name);
    console.log(`${name}: a pod that started ${after()} after the write holds ${count} of 2 CAs`);
    if (count === 2) seen.set(name, after());
  }
  await until(
    async () => {
      const { generations } = await status();
      const activated = generations.some(({ generation, role }) => generation === 2 && role === 'current');
      for (const name of READERS) {
        if (seen.has(name)) continue;
        if ((await held(name)) < 2) {
          expect([name, activated]).toEqual([name, false]);
          continue;
        }
        seen.set(name, after());
        console.log(`${name}: both CAs in the file ${after()} after the write`);
      }
      if (activated) console.log(`activated ${after()} after the write`);
      return activated;
    },
    'the activation',
    LONG,
  );
  expect([...seen.keys()].sort()).toEqual([...READERS].sort());
}, 1_800_000);
