import { deployments, pods, secrets } from '@handover/kube';
import { RESOURCE_KINDS } from '@handover/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource, type Stage, setStage, until } from './stage.ts';

// Pods that no node runs: the API server and its controllers are real, and this test plays the kubelet.
let stage: Stage;
let kubelet: NodeJS.Timeout;
const seenPods = new Map<string, string>();

beforeAll(async () => {
  stage = await setStage({ controllerManager: true });
  stage.start('one');
  kubelet = setInterval(() => void runPods().catch(() => {}), 300);
}, 300_000);
afterAll(async () => {
  clearInterval(kubelet);
  await stage.stop();
});

async function runPods(): Promise<void> {
  const { items } = await stage.kube.list(pods, { namespace: 'default' });
  for (const { metadata, status } of items) {
    seenPods.set(metadata.uid ?? '', metadata.name ?? '');
    if ((status as { phase?: string } | undefined)?.phase === 'Running') continue;
    const now = new Date().toISOString();
    const conditions = ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
    }));
    await stage.kube.patch(
      pods,
      { namespace: 'default', name: metadata.name ?? '', subresource: 'status' },
      { merge: { status: { phase: 'Running', conditions } } },
    );
  }
}

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

test('a rotation waits for pods that show nothing and names them, rolls a restart-only workload once, and ends', async () => {
  await stage.cluster.apply(
    resource('Authority', 'mesh', { rotation: { settle: '5s' } }),
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
  const restarts = [...seenPods.values()].filter((name) => name.startsWith('frozen-')).length;
  expect(restarts).toBe(4);
  expect([...seenPods.values()].filter((name) => name.startsWith('hot-'))).toHaveLength(2);
}, 600_000);
