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

const EVERY_NAMESPACE = { namespaceSelector: {}, uris: ['spiffe://cluster.local/ns/{namespace}/sa/*'] };

/** The same with a second podCertificate volume of the same signer. */
const withTwoVolumes = (pod: KubeObject): KubeObject => {
  const spec = pod.spec as { readonly volumes: readonly object[] };
  const volumes = [...spec.volumes, ...spec.volumes.map((volume) => ({ ...volume, name: 'second' }))];
  return { ...pod, spec: { ...spec, volumes } } as KubeObject;
};

interface PodMade {
  readonly namespace?: string;
  readonly phase?: 'Pending' | 'Running';
  readonly twoVolumes?: boolean;
}

/** An API server with an Authority that signs for pods, and an operator. */
const stage = async (issueTo: object = EVERY_NAMESPACE) => {
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
      issueTo,
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
    pod: async (name: string, annotations: object = {}, made: PodMade = {}): Promise<KubeObject> => {
      const { namespace = 'prod', phase = 'Running', twoVolumes = false } = made;
      const pod = certifiedPod(namespace, name, SIGNER, { metadata: { annotations } });
      await kube.create(pods, twoVolumes ? withTwoVolumes(pod) : pod);
      const ready = { type: 'Ready', status: phase === 'Running' ? 'True' : 'False' };
      const status = { phase, conditions: [ready] };
      return kube.patch(pods, { namespace, name, subresource: 'status' }, { merge: { status } });
    },
    refused: async (pod: KubeObject, spec: object = {}): Promise<void> => {
      const { namespace, name = '' } = (await kube.create(REQUESTS, requestFor(pod, SIGNER, spec))).metadata;
      await eventually(async () => {
        const found = (await kube.get(REQUESTS, { namespace, name }))?.status as {
          conditions?: readonly { type: string }[];
        };
        return found?.conditions?.[0]?.type === 'Denied';
      }, LONG);
    },
    /** The kubelet's part: one request, and its answer. Returns its name. */
    certified: async (pod: KubeObject, maxExpirationSeconds = 86_400): Promise<string> => {
      const { namespace, name = '' } = (
        await kube.create(REQUESTS, requestFor(pod, SIGNER, { maxExpirationSeconds }))
      ).metadata;
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
    /** The new CA signs. */
    activated: (): Promise<void> => eventually(async () => (await status()).phase === 'Activating', LONG),
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
    const pod = await on.pod('far', {}, { namespace: 'shop' });
    await on.certified(pod);
    await on.rotate();
    await on.alone('shop/podcertificates/far');
    await on.certified(pod);
    await on.done();
  }, 300_000);

  test.each([
    ['its own', 'prod', 'pod prod/web'],
    ['another', 'shop', 'shop/podcertificates/web'],
  ])(
    'waits for a pod of %s namespace with two certificates, of which one was refreshed, until it is created anew',
    async (_, namespace, consumer) => {
      await using on = await stage();
      const made = { namespace, twoVolumes: true };
      const [pod, control] = [await on.pod('web', HOT, made), await on.pod('control', HOT)];
      for (const seconds of [3_600, 86_400]) await on.certified(pod, seconds);
      await on.certified(control);
      await on.rotate();
      await on.activated();
      // One volume alone, twice: its lifetime is shorter than the other's.
      for (const seconds of [3_600, 3_600]) await on.certified(pod, seconds);
      await on.certified(control);
      await on.alone(consumer);
      await on.waiting(consumer, 'the pod has 2 certificates of this Authority');
      await on.kube.delete(pods, { namespace, name: 'web' });
      const anew = await on.pod('web', HOT, made);
      for (const seconds of [3_600, 86_400]) await on.certified(anew, seconds);
      await on.done();
    },
    300_000,
  );

  test('does not wait for a pod of a namespace that issueTo does not select', async () => {
    await using on = await stage({});
    const pod = await on.pod('web', HOT);
    await on.certified(pod);
    await on.refused(await on.pod('far', HOT, { namespace: 'shop', phase: 'Pending' }));
    await on.pod('further', HOT, { namespace: 'shop' });
    await on.rotate();
    await on.alone('pod prod/web');
    await on.certified(pod);
    await on.done();
  }, 300_000);

  test('does not wait for a pod elsewhere that was refused its certificate and never started', async () => {
    await using on = await stage();
    const stray = { unverifiedUserAnnotations: { 'example.com/a': 'b' } };
    const pod = await on.pod('web', HOT);
    await on.certified(pod);
    await on.refused(await on.pod('pending', HOT, { namespace: 'shop', phase: 'Pending' }), stray);
    await on.refused(await on.pod('running', HOT, { namespace: 'shop' }), stray);
    await on.rotate();
    await on.activated();
    await on.certified(pod);
    await on.alone('shop/podcertificates/running');
    await on.waiting('shop/podcertificates/running', 'its request was refused');
  }, 300_000);

  test('waits for a refused pod of its own namespace, and says so', async () => {
    await using on = await stage();
    await on.certified(await on.pod('before', HOT));
    const stray = { unverifiedUserAnnotations: { 'example.com/a': 'b' } };
    await on.refused(await on.pod('web', HOT, { phase: 'Pending' }), stray);
    await on.rotate();
    await on.waiting('pod prod/web', 'its request was refused');
  }, 300_000);
});
