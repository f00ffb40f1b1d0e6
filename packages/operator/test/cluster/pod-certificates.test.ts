// Against: kube-apiserver of Kubernetes 1.37, with the rights that `handover install --pod-certificates` gives.
import { generateKeyPairSync } from 'node:crypto';
import { type KubeObject, loadKubeConfig, pods } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, certifiedPod, newKey, REQUESTS, requestFor, stubRequest } from '../pod-request.ts';
import { connectTo, resource, type Stage, setStage, until } from './stage.ts';

const SIGNER = 'handover.dev/default.mesh';

let stage: Stage;
let pod: KubeObject;
beforeAll(async () => {
  stage = await setStage({ installed: { podCertificates: true } });
  await stage.cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'default', name: 'default' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'default', name: 'api' },
      spec: { selector: { app: 'web' }, ports: [{ port: 443 }] },
    },
    resource('Authority', 'mesh', { podCertificates: {} }),
    certifiedPod('default', 'web', SIGNER),
  );
  stage.start('one');
  pod = await until(() => stage.kube.get(pods, { namespace: 'default', name: 'web' }), 'the pod');
}, 300_000);
afterAll(() => stage.stop());

const answerTo = async (spec: object): Promise<Answer> => {
  const { metadata } = await stage.kube.create(REQUESTS, requestFor(pod, SIGNER, spec));
  return until(async () => {
    const found = await stage.kube.get(REQUESTS, { namespace: 'default', name: metadata.name ?? '' });
    const status = (found?.status ?? {}) as Answer;
    return status.conditions === undefined ? undefined : status;
  }, 'the answer');
};

test.each([
  ['ECDSA P-256', () => newKey()],
  ['ECDSA P-384', () => generateKeyPairSync('ec', { namedCurve: 'secp384r1' })],
  ['RSA 3072', () => generateKeyPairSync('rsa', { modulusLength: 3072 })],
])('the API server takes our certificate for a key of type %s', async (_, make) => {
  const status = await answerTo({ stubPKCS10Request: stubRequest(make()) });
  expect(status.conditions).toMatchObject([{ type: 'Issued' }]);
  const [leaf] = parseCertificates(status.certificateChain ?? '').certificates;
  expect(leaf?.dnsNames).toEqual(['api.default.svc', 'api.default.svc.cluster.local']);
  expect(leaf?.uris).toEqual(['spiffe://cluster.local/ns/default/sa/default']);
});

test('the shortest and the longest lifetime that Kubernetes knows are taken', async () => {
  for (const [seconds, refresh] of [
    [3_600, 600],
    [7_862_400, 1_310_400],
  ] as const) {
    const status = await answerTo({ maxExpirationSeconds: seconds });
    expect(status.conditions).toMatchObject([{ type: 'Issued' }]);
    const [leaf] = parseCertificates(status.certificateChain ?? '').certificates;
    expect((leaf?.notAfter ?? 0) - (leaf?.notBefore ?? 0)).toBe(seconds * 1_000);
    expect(Date.parse(status.beginRefreshAt ?? '') - Date.parse(status.notBefore ?? '')).toBe(
      refresh * 1_000,
    );
  }
});

test('refusals are taken too', async () => {
  const edwards = await answerTo({ stubPKCS10Request: stubRequest(generateKeyPairSync('ed25519')) });
  expect(edwards.conditions).toMatchObject([{ type: 'Denied', reason: 'UnsupportedKeyType' }]);
  const annotated = await answerTo({ unverifiedUserAnnotations: { 'example.com/cn': 'admin' } });
  expect(annotated.conditions).toMatchObject([
    { type: 'Denied', reason: 'InvalidUnverifiedUserAnnotations' },
  ]);
  const elsewhere = await answerTo({ nodeName: 'node-2' });
  expect(elsewhere.conditions).toMatchObject([{ type: 'Failed', reason: 'PodMismatch' }]);
});

test('a request that is signed by another key does not get past the API server', async () => {
  const stolen = requestFor(pod, SIGNER, { stubPKCS10Request: stubRequest(newKey(), newKey().privateKey) });
  await expect(stage.kube.create(REQUESTS, stolen)).rejects.toMatchObject({ code: 'KUBE_INVALID' });
});

test('the operator cannot answer for a signer of another domain', async () => {
  const user = 'system:serviceaccount:handover-system:handover';
  const config = await loadKubeConfig({ kubeconfig: stage.cluster.kubeconfigFor(user) });
  const end = new AbortController();
  const operator = connectTo(stage.cluster, end.signal, undefined, config);
  const foreign = await stage.kube.create(REQUESTS, requestFor(pod, 'example.com/mesh'));
  const condition = { type: 'Denied', status: 'True', reason: 'No', message: 'no' };
  const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
  const which = { namespace: 'default', name: foreign.metadata.name ?? '', subresource: 'status' };
  const answer = operator.patch(REQUESTS, which, { merge: { status: { conditions } } });
  // The API server asks for the right while it validates.
  await expect(answer).rejects.toThrow(/Forbidden: User .* is not permitted to "sign"/);
  end.abort();
});

test('nothing was forbidden', () => {
  expect(stage.requests.filter(({ status }) => status === 403)).toEqual([]);
});
