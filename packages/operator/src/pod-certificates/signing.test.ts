// Against: an API server inside the test.
import { generateKeyPairSync } from 'node:crypto';
import { signerOf } from '@handover/core';
import { crds } from '@handover/install';
import {
  connect,
  customResourceDefinitions,
  events,
  type Kube,
  type KubeObject,
  namespaces,
  podCertificateRequests,
  pods,
  services,
} from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { eventually, FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { certifiedPod, newKey, requestFor, stubRequest } from '../../test/pod-request.ts';
import { RESOURCE_KINDS } from '../resources/kinds.ts';
import { Operator } from '../run/operator.ts';
import { Addresses } from '../workloads/addresses.ts';

const REQUESTS = podCertificateRequests('v1');
const SIGNER = signerOf('prod/mesh');

interface Answer {
  readonly conditions?: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly certificateChain?: string;
  readonly notBefore?: string;
  readonly notAfter?: string;
  readonly beginRefreshAt?: string;
}

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
let ended: Promise<void> | undefined;
beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  kube = connect(server.config, { signal: new AbortController().signal, rate: false });
  for (const crd of crds()) await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
  for (const name of ['handover-system', 'prod', 'shop'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
});
afterEach(async () => {
  end.abort();
  await ended;
  await server.stop();
});

const operate = (): void => {
  const addresses = new Addresses([], []);
  const operator = new Operator({
    kube,
    namespace: 'handover-system',
    identity: 'one',
    pods: { addresses },
    on: () => {},
  });
  ended = operator.run(end.signal);
};

const authority = (spec: object = { podCertificates: {} }): Promise<KubeObject> =>
  kube.create(RESOURCE_KINDS.Authority, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Authority',
    metadata: { namespace: 'prod', name: 'mesh' },
    spec,
  } as KubeObject);

const service = (namespace: string, name: string, selector: object): Promise<KubeObject> =>
  kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { selector, ports: [{ port: 443 }] },
  } as KubeObject);

const podIn = (namespace: string, name = 'web'): Promise<KubeObject> =>
  kube.create(pods, certifiedPod(namespace, name, SIGNER));

const ask = async (pod: KubeObject, spec: object = {}): Promise<string> =>
  (await kube.create(REQUESTS, requestFor(pod, SIGNER, spec))).metadata.name ?? '';

const statusOf = async (namespace: string, name: string): Promise<Answer> =>
  ((await kube.get(REQUESTS, { namespace, name }))?.status ?? {}) as Answer;

const answered = async (namespace: string, name: string): Promise<Answer> => {
  let status: Answer = {};
  await eventually(async () => {
    status = await statusOf(namespace, name);
    return status.conditions !== undefined;
  });
  return status;
};

/** What an Event of this reason says. */
const said = (namespace: string, reason: string, part: string): Promise<unknown> =>
  eventually(async () =>
    ((await kube.list(events, { namespace })).items as readonly { reason?: string; message?: string }[]).some(
      (event) => event.reason === reason && event.message?.includes(part) === true,
    ),
  );

const leafIn = ({ certificateChain = '' }: Answer) => parseCertificates(certificateChain).certificates[0];

test('a pod gets a certificate with the names that are its own, and none that it claims', async () => {
  await authority();
  await service('prod', 'api', { app: 'web' });
  await service('prod', 'other', { app: 'db' });
  operate();
  const name = await ask(await podIn('prod'));
  const status = await answered('prod', name);
  expect(status.conditions?.[0]).toMatchObject({ type: 'Issued' });
  const leaf = leafIn(status);
  expect(leaf?.dnsNames).toEqual(['api.prod.svc', 'api.prod.svc.cluster.local']);
  expect(leaf?.uris).toEqual(['spiffe://cluster.local/ns/prod/sa/default']);
  expect(leaf?.extendedKeyUsage).toEqual(['serverAuth', 'clientAuth']);
  const [from, refresh, to] = [status.notBefore, status.beginRefreshAt, status.notAfter].map((date) =>
    Date.parse(date ?? ''),
  );
  expect([from, to]).toEqual([leaf?.notBefore, leaf?.notAfter]);
  expect((to ?? 0) - (from ?? 0)).toBe(86_400_000);
  expect((refresh ?? 0) - (from ?? 0)).toBe(14_400_000);
});

test('maxLifetime of the Authority cuts a certificate, and the trust domain is its owner’s', async () => {
  await authority({ podCertificates: { trustDomain: 'mesh.example' }, issueTo: { maxLifetime: '2h' } });
  operate();
  const leaf = leafIn(await answered('prod', await ask(await podIn('prod'))));
  expect((leaf?.notAfter ?? 0) - (leaf?.notBefore ?? 0)).toBe(7_200_000);
  expect(leaf?.uris).toEqual(['spiffe://mesh.example/ns/prod/sa/default']);
});

test('a pod of another namespace gets what issueTo allows it, and the rest is left out', async () => {
  await authority({ podCertificates: {}, issueTo: { namespaceSelector: {} } });
  await service('shop', 'api', { app: 'web' });
  operate();
  const pod = await podIn('shop');
  const leaf = leafIn(await answered('shop', await ask(pod)));
  expect(leaf?.dnsNames).toEqual(['api.shop.svc', 'api.shop.svc.cluster.local']);
  expect(leaf?.uris).toEqual([]);
  await said('shop', 'NamesLeftOut', 'spiffe://');
});

test('a namespace that issueTo does not select is denied', async () => {
  await authority();
  operate();
  const { conditions } = await answered('shop', await ask(await podIn('shop')));
  expect(conditions?.[0]).toMatchObject({ type: 'Denied', reason: 'Policy' });
  expect(conditions?.[0]?.message).toContain('spec.issueTo.namespaceSelector');
});

test('a stolen key, a broken request and a strange pod fail; keys that peers refuse and annotations are denied', async () => {
  await authority();
  operate();
  const pod = await podIn('prod');
  const stolen = stubRequest(newKey(), newKey().privateKey);
  const edwards = stubRequest(generateKeyPairSync('ed25519'));
  const bare = await kube.create(pods, {
    ...certifiedPod('prod', 'bare', SIGNER),
    spec: {
      nodeName: 'node-1',
      serviceAccountName: 'default',
      containers: [{ name: 'main', image: 'none' }],
    },
  } as KubeObject);
  const reasons = async (whose: KubeObject, spec: object): Promise<string> => {
    const [condition] = (await answered('prod', await ask(whose, spec))).conditions ?? [];
    return `${condition?.type} ${condition?.reason}`;
  };
  expect(await reasons(pod, { stubPKCS10Request: stolen })).toBe('Failed ProofOfPossession');
  expect(await reasons(pod, { stubPKCS10Request: 'MAA=' })).toBe('Failed MalformedRequest');
  expect(await reasons(pod, { nodeName: 'node-2' })).toBe('Failed PodMismatch');
  expect(await reasons(pod, { serviceAccountName: 'admin' })).toBe('Failed PodMismatch');
  expect(await reasons(bare, {})).toBe('Failed PodMismatch');
  expect(await reasons(pod, { stubPKCS10Request: edwards })).toBe('Denied UnsupportedKeyType');
  for (const { publicKey } of [generateKeyPairSync('x25519'), generateKeyPairSync('ed448')])
    expect(
      await reasons(pod, {
        stubPKCS10Request: undefined,
        pkixPublicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
        proofOfPossession: 'MAA=',
      }),
    ).toBe('Denied UnsupportedKeyType');
  expect(await reasons(pod, { unverifiedUserAnnotations: { 'example.com/cn': 'admin' } })).toBe(
    'Denied InvalidUnverifiedUserAnnotations',
  );
});

test('what may still come is waited for, and said on the pod', async () => {
  await authority({});
  operate();
  const pod = await podIn('prod');
  // Another Authority that signs for pods has the operator look at requests at all.
  await kube.create(RESOURCE_KINDS.Authority, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Authority',
    metadata: { namespace: 'shop', name: 'other' },
    spec: { podCertificates: {} },
  } as KubeObject);
  const name = await ask(pod);
  await said('prod', 'PodCertificateWaits', 'set its spec.podCertificates');
  expect((await statusOf('prod', name)).conditions).toBeUndefined();
  await kube.patch(
    RESOURCE_KINDS.Authority,
    { namespace: 'prod', name: 'mesh' },
    { merge: { spec: { podCertificates: {} } } },
  );
  expect((await answered('prod', name)).conditions?.[0]).toMatchObject({ type: 'Issued' });
});

test('a request for a pod that has been replaced gets no answer, and those of other signers none of ours', async () => {
  await authority();
  operate();
  const pod = await podIn('prod');
  const stale = await ask(pod, { podUID: 'another' });
  const foreign = await kube.create(REQUESTS, requestFor(pod, SIGNER, { signerName: 'example.com/mesh' }));
  // Answered last, so that the two before it have been looked at.
  await answered('prod', await ask(pod));
  expect((await statusOf('prod', stale)).conditions).toBeUndefined();
  expect((await statusOf('prod', foreign.metadata.name ?? '')).conditions).toBeUndefined();
});
