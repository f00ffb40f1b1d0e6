// Against: an API server inside the test.
import { ROTATE, signerOf } from '@handover/core';
import { crds } from '@handover/install';
import {
  connect,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  namespaces,
  podCertificateRequests,
  pods,
} from '@handover/kube';
import { eventually, FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { certifiedPod, requestFor } from '../../test/pod-request.ts';
import { RESOURCE_KINDS } from '../resources/kinds.ts';
import { Operator } from '../run/operator.ts';
import { Addresses } from '../workloads/addresses.ts';

const REQUESTS = podCertificateRequests('v1');
const SIGNER = signerOf('prod/mesh');
const MESH = { namespace: 'prod', name: 'mesh' };

interface Status {
  readonly phase?: string;
  readonly blockedBy?: readonly { readonly consumer: string; readonly waitsFor: string }[];
  readonly generations?: readonly { readonly generation: number }[];
}

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
let ended: Promise<void> | undefined;
beforeEach(async () => {
  server = await FakeApiServer.start();
  kube = connect(server.config, { signal: new AbortController().signal, rate: false });
  for (const crd of crds()) await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
  for (const name of ['handover-system', 'prod', 'shop'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await kube.create(RESOURCE_KINDS.Authority, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Authority',
    metadata: MESH,
    spec: {
      podCertificates: {},
      rotation: { reloadWithin: '1s' },
      issueTo: { namespaceSelector: {}, uris: ['spiffe://cluster.local/ns/{namespace}/sa/*'] },
    },
  } as KubeObject);
  start();
});
afterEach(async () => {
  await stop();
  await server.stop();
});

const start = (): void => {
  end = new AbortController();
  const operator = new Operator({
    kube,
    namespace: 'handover-system',
    identity: 'one',
    pods: { addresses: new Addresses([], []) },
    on: () => {},
  });
  ended = operator.run(end.signal);
};
const stop = async (): Promise<void> => {
  end.abort();
  await ended;
};

const podWith = (name: string, annotations: object = {}, namespace = 'prod'): Promise<KubeObject> =>
  kube.create(pods, {
    ...certifiedPod(namespace, name, SIGNER, { metadata: { annotations } }),
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  } as KubeObject);

/** The kubelet's part: one request, and its answer. Returns its name. */
const certified = async (pod: KubeObject): Promise<string> => {
  const { namespace, name = '' } = (await kube.create(REQUESTS, requestFor(pod, SIGNER))).metadata;
  await eventually(async () => {
    const found = (await kube.get(REQUESTS, { namespace, name }))?.status as { certificateChain?: string };
    return found?.certificateChain !== undefined;
  });
  return name;
};

const rotate = (id: string): Promise<unknown> =>
  kube.patch(RESOURCE_KINDS.Authority, MESH, { merge: { metadata: { annotations: { [ROTATE]: id } } } });

const status = async (): Promise<Status> =>
  ((await kube.get(RESOURCE_KINDS.Authority, MESH))?.status ?? {}) as Status;

const waiting = async (consumer: string, words: string): Promise<void> =>
  eventually(
    async () =>
      (await status()).blockedBy?.some((one) => one.consumer === consumer && one.waitsFor.includes(words)),
    60_000,
  );

/** What it waits for once nothing else is left; by then a pod that did not count would have let it go on. */
const alone = (consumer: string): Promise<void> =>
  eventually(async () => {
    const { phase, blockedBy = [] } = await status();
    return phase === 'Activating' && blockedBy.length === 1 && blockedBy[0]?.consumer === consumer;
  }, 60_000);

const done = (): Promise<void> =>
  eventually(async () => {
    const { phase, generations = [] } = await status();
    return phase === 'Stable' && generations.length === 1 && generations[0]?.generation === 2;
  }, 60_000);

test('a rotation waits for a pod until its new certificate came, and says until when at most', async () => {
  const pod = await podWith('web', { 'handover.dev/reload': 'hot' });
  await certified(pod);
  await rotate('one');
  await waiting('pod prod/web', 'to get a certificate of CA generation 2, at the latest until 20');
  await alone('pod prod/web');
  await certified(pod);
  await done();
}, 180_000);

test('a pod that never shows what it serves is waited for after its refresh too; a new pod is not', async () => {
  const pod = await podWith('web');
  await certified(pod);
  await rotate('one');
  await alone('pod prod/web');
  await certified(pod);
  await waiting('pod prod/web', 'to load its new certificate');
  await kube.delete(pods, { namespace: 'prod', name: 'web' });
  await certified(await podWith('web'));
  await done();
}, 180_000);

test('a pod whose request is gone counts against the rotation after a restart of the operator', async () => {
  const pod = await podWith('web', { 'handover.dev/reload': 'hot' });
  const name = await certified(pod);
  await kube.delete(REQUESTS, { namespace: 'prod', name });
  await stop();
  start();
  await rotate('one');
  await alone('pod prod/web');
  expect((await status()).blockedBy?.[0]?.waitsFor).toContain('at the latest until');
}, 180_000);

test('a pod of another namespace is waited for until its certificate came', async () => {
  const pod = await podWith('far', {}, 'shop');
  await certified(pod);
  await rotate('one');
  await alone('shop/podcertificates/far');
  await certified(pod);
  await done();
}, 180_000);
