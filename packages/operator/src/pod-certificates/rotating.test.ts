// Against: an API server inside the test.
import { type KubeObject, pods } from '@handover/kube';
import { beforeEach, expect, test } from 'vitest';
import { REQUESTS } from '../../test/pod-request.ts';
import { PodWorld } from '../../test/pod-world.ts';
import { HOT, placeOf } from '../../test/world.ts';

const EVERY_NAMESPACE = { namespaceSelector: {}, uris: ['spiffe://cluster.local/ns/{namespace}/sa/*'] };
const STRAY = { unverifiedUserAnnotations: { 'example.com/a': 'b' } };

let world: PodWorld;
beforeEach(async () => {
  world = await PodWorld.open();
});

/** Begins with an Authority that signs for pods. */
const operate = async (issueTo: object = EVERY_NAMESPACE): Promise<() => Promise<void>> => {
  await world.authority({ podCertificates: {}, rotation: { reloadWithin: '1s' }, issueTo });
  return world.operate();
};
/** The kubelet's part: one request, and its answer. Returns its id. */
const certified = async (pod: KubeObject, maxExpirationSeconds = 86_400): Promise<string> => {
  const request = await world.request(pod, { maxExpirationSeconds });
  expect((await world.answered(request)).certificateChain).toBeDefined();
  return request;
};
const refused = async (pod: KubeObject, spec: object = {}): Promise<void> => {
  const { conditions } = await world.answered(await world.request(pod, spec));
  expect(conditions?.[0]?.type).toBe('Denied');
};
/** A kubelet's caches are waited for. */
const LONG = 180_000;
/** The new CA signs. */
const activated = (): Promise<unknown> =>
  world.until(
    async () => (await world.status()).phase === 'Activating' || undefined,
    'the new CA to sign',
    LONG,
  );
const waiting = (consumer: string, words: string): Promise<unknown> =>
  world.until(
    async () =>
      (await world.blockers()).find((line) => line.startsWith(`${consumer}: `) && line.includes(words)),
    `${consumer} to be waited for: ${words}`,
    LONG,
  );
/** Nothing else is left to wait for: a pod that did not count would have let the rotation end. */
const alone = (consumer: string): Promise<unknown> =>
  world.until(
    async () => {
      const { phase, blockedBy = [] } = await world.status();
      const isAlone = blockedBy.length === 1 && blockedBy[0]?.consumer === consumer;
      return (phase === 'Activating' && isAlone) || undefined;
    },
    `${consumer} alone to be waited for`,
    LONG,
  );
const done = (): Promise<unknown> => world.retired(2, LONG);

test('a rotation waits for a pod until its new certificate came, and says until when at most', async () => {
  await operate();
  const pod = await world.certifiedPod('prod/web', { annotations: HOT });
  await certified(pod);
  await world.rotate();
  await waiting('pod prod/web', 'to get a certificate of CA generation 2, at the latest until 20');
  await alone('pod prod/web');
  await certified(pod);
  await done();
});

test('a rotation waits after its refresh for a pod that never shows what it serves, and not for a new pod', async () => {
  await operate();
  const pod = await world.certifiedPod('prod/web');
  await certified(pod);
  await world.rotate();
  await alone('pod prod/web');
  await certified(pod);
  await waiting('pod prod/web', 'to load its new certificate');
  await world.kube.delete(pods, { namespace: 'prod', name: 'web' });
  await certified(await world.certifiedPod('prod/web'));
  await done();
});

test('a rotation waits for a pod whose request is gone, after a restart of the operator', async () => {
  const stop = await operate();
  const request = await certified(await world.certifiedPod('prod/web', { annotations: HOT }));
  await world.kube.delete(REQUESTS, placeOf(request));
  await stop();
  world.operate();
  await world.rotate();
  await alone('pod prod/web');
  expect((await world.status()).blockedBy?.[0]?.waitsFor).toContain('at the latest until');
});

test('a pod of another namespace holds no rotation up, and keeps the old CA trusted without its key', async () => {
  await operate();
  await certified(await world.certifiedPod('shop/far', { annotations: HOT }));
  await world.rotate();
  await world.retained('leaves whose users cannot be seen');
});

test('a rotation waits for a pod with two certificates, of which one was refreshed, until it is created anew', async () => {
  await operate();
  const made = { annotations: HOT, twoVolumes: true };
  const [pod, control] = [
    await world.certifiedPod('prod/web', made),
    await world.certifiedPod('prod/control', { annotations: HOT }),
  ];
  for (const seconds of [3_600, 86_400]) await certified(pod, seconds);
  await certified(control);
  await world.rotate();
  await activated();
  // One volume alone, twice: its lifetime is shorter than the other's.
  for (const seconds of [3_600, 3_600]) await certified(pod, seconds);
  await certified(control);
  await alone('pod prod/web');
  await waiting('pod prod/web', 'the pod has 2 certificates of this Authority');
  await world.kube.delete(pods, { namespace: 'prod', name: 'web' });
  const anew = await world.certifiedPod('prod/web', made);
  for (const seconds of [3_600, 86_400]) await certified(anew, seconds);
  await done();
});

test('a rotation does not wait for a pod of a namespace that issueTo does not select', async () => {
  await operate({});
  const pod = await world.certifiedPod('prod/web', { annotations: HOT });
  await certified(pod);
  await refused(await world.certifiedPod('shop/far', { annotations: HOT, phase: 'Pending' }));
  await world.certifiedPod('shop/further', { annotations: HOT });
  await world.rotate();
  await alone('pod prod/web');
  await certified(pod);
  await done();
});

test('a pod elsewhere that was refused its certificate holds no rotation up and keeps no CA trusted', async () => {
  await operate();
  const pod = await world.certifiedPod('prod/web', { annotations: HOT });
  await certified(pod);
  await refused(await world.certifiedPod('shop/pending', { annotations: HOT, phase: 'Pending' }), STRAY);
  await refused(await world.certifiedPod('shop/running', { annotations: HOT }), STRAY);
  await world.rotate();
  await activated();
  await certified(pod);
  await done();
});

test('a rotation waits for a refused pod of its own namespace, and says so', async () => {
  await operate();
  await certified(await world.certifiedPod('prod/before', { annotations: HOT }));
  await refused(await world.certifiedPod('prod/web', { annotations: HOT, phase: 'Pending' }), STRAY);
  await world.rotate();
  await waiting('pod prod/web', 'its request was refused');
});
