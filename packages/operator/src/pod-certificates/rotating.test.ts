// Against: an API server inside the test. Each test waits for a kubelet's caches, so that they run side by side.
import { ROTATE, signerOf } from '@handover/core';
import { crds } from '@handover/install';
import {
  connect,
  customResourceDefinitions,
  type KubeObject,
  namespaces,
  podCertificateRequests,
  pods,
} from '@handover/kube';
import { eventually, FakeApiServer } from '@handover/test-api-server';
import { describe, expect, test } from 'vitest';
import { certifiedPod, requestFor } from '../../test/pod-request.ts';
import { RESOURCE_KINDS } from '../resources/kinds.ts';
import { Operator } from '../run/operator.ts';
import { Addresses } from '../workloads/addresses.ts';

const REQUESTS = podCertificateRequests('v1');
const SIGNER = signerOf('prod/mesh');
const MESH = { namespace: 'prod', name: 'mesh' };
const HOT = { 'handover.dev/reload': 'hot' };
const LONG = 180_000;

interface Status {
  readonly phase?: string;
  readonly blockedBy?: readonly { readonly consumer: string; readonly waitsFor: string }[];
  readonly generations?: readonly { readonly generation: number }[];
}

/** An API server with an Authority that signs for pods, and an operator. */
const stage = async () => {
  const server = await FakeApiServer.start();
  const kube = connect(server.config, { signal: new AbortController().signal, rate: false });
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
  const operate = () => {
    const end = new AbortController();
    const operator = new Operator({
      kube,
      namespace: 'handover-system',
      identity: 'one',
      pods: { addresses: new Addresses([], []) },
      on: () => {},
    });
    const ended = operator.run(end.signal);
    return async (): Promise<void> => {
      end.abort();
      await ended;
    };
  };
  let stop = operate();
  const status = async (): Promise<Status> =>
    ((await kube.get(RESOURCE_KINDS.Authority, MESH))?.status ?? {}) as Status;
  return {
    kube,
    status,
    restart: async (): Promise<void> => {
      await stop();
      stop = operate();
    },
    pod: (name: string, annotations: object = {}, namespace = 'prod'): Promise<KubeObject> =>
      kube.create(pods, {
        ...certifiedPod(namespace, name, SIGNER, { metadata: { annotations } }),
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      } as KubeObject),
    /** The kubelet's part: one request, and its answer. Returns its name. */
    certified: async (pod: KubeObject): Promise<string> => {
      const { namespace, name = '' } = (await kube.create(REQUESTS, requestFor(pod, SIGNER))).metadata;
      await eventually(async () => {
        const found = (await kube.get(REQUESTS, { namespace, name }))?.status as {
          certificateChain?: string;
        };
        return found?.certificateChain !== undefined;
      }, LONG);
      return name;
    },
    rotate: (): Promise<unknown> =>
      kube.patch(RESOURCE_KINDS.Authority, MESH, {
        merge: { metadata: { annotations: { [ROTATE]: 'one' } } },
      }),
    waiting: (consumer: string, words: string): Promise<void> =>
      eventually(
        async () =>
          (await status()).blockedBy?.some(
            (one) => one.consumer === consumer && one.waitsFor.includes(words),
          ),
        LONG,
      ),
    /** Nothing else is left to wait for: a pod that did not count would have let the rotation end. */
    alone: (consumer: string): Promise<void> =>
      eventually(async () => {
        const { phase, blockedBy = [] } = await status();
        return phase === 'Activating' && blockedBy.length === 1 && blockedBy[0]?.consumer === consumer;
      }, LONG),
    done: (): Promise<void> =>
      eventually(async () => {
        const { phase, generations = [] } = await status();
        return phase === 'Stable' && generations.length === 1 && generations[0]?.generation === 2;
      }, LONG),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await stop();
      await server.stop();
    },
  };
};

describe.concurrent('a rotation', () => {
  test('waits for a pod until its new certificate came, and says until when at most', async () => {
    await using on = await stage();
    const pod = await on.pod('web', HOT);
    await on.certified(pod);
    await on.rotate();
    await on.waiting('pod prod/web', 'to get a certificate of CA generation 2, at the latest until 20');
    await on.alone('pod prod/web');
    await on.certified(pod);
    await on.done();
  }, 300_000);

  test('waits after its refresh for a pod that never shows what it serves, and not for a new pod', async () => {
    await using on = await stage();
    const pod = await on.pod('web');
    await on.certified(pod);
    await on.rotate();
    await on.alone('pod prod/web');
    await on.certified(pod);
    await on.waiting('pod prod/web', 'to load its new certificate');
    await on.kube.delete(pods, { namespace: 'prod', name: 'web' });
    await on.certified(await on.pod('web'));
    await on.done();
  }, 300_000);

  test('waits for a pod whose request is gone, after a restart of the operator', async () => {
    await using on = await stage();
    const name = await on.certified(await on.pod('web', HOT));
    await on.kube.delete(REQUESTS, { namespace: 'prod', name });
    await on.restart();
    await on.rotate();
    await on.alone('pod prod/web');
    expect((await on.status()).blockedBy?.[0]?.waitsFor).toContain('at the latest until');
  }, 300_000);

  test('waits for a pod of another namespace until its certificate came', async () => {
    await using on = await stage();
    const pod = await on.pod('far', {}, 'shop');
    await on.certified(pod);
    await on.rotate();
    await on.alone('shop/podcertificates/far');
    await on.certified(pod);
    await on.done();
  }, 300_000);
});
