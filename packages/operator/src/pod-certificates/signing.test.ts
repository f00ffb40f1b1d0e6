// Against: an API server inside the test.
import { generateKeyPairSync } from 'node:crypto';
import { events, type KubeObject, pods, services } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import {
  type Answer,
  certifiedPod,
  newKey,
  REQUESTS,
  requestFor,
  stubRequest,
} from '../../test/pod-request.ts';
import { PodWorld, SIGNER } from '../../test/pod-world.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';

const FOR_PODS = { podCertificates: {} } as const;

let world: PodWorld;
beforeEach(async () => {
  world = await PodWorld.open();
});

const service = (namespace: string, name: string, selector: object): Promise<KubeObject> =>
  world.kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { selector, ports: [{ port: 443 }] },
  } as KubeObject);

/** An Event of this reason says so. */
const said = (namespace: string, reason: string, part: string): Promise<unknown> =>
  world.until(async () => {
    const { items } = await world.kube.list(events, { namespace });
    return (items as readonly { reason?: string; message?: string }[]).find(
      (event) => event.reason === reason && event.message?.includes(part) === true,
    );
  }, `an Event ${reason}: ${part}`);

const leafIn = ({ certificateChain = '' }: Answer) => parseCertificates(certificateChain).certificates[0];

test('a pod gets a certificate with its own names, and with none that it claims', async () => {
  await world.authority(FOR_PODS);
  await service('prod', 'api', { app: 'web' });
  await service('prod', 'other', { app: 'db' });
  world.operate();
  const name = await world.request(await world.certifiedPod('prod/web'));
  const status = await world.answered(name);
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
  await world.authority({ podCertificates: { trustDomain: 'mesh.example' }, issueTo: { maxLifetime: '2h' } });
  world.operate();
  const leaf = leafIn(await world.answered(await world.request(await world.certifiedPod('prod/web'))));
  expect((leaf?.notAfter ?? 0) - (leaf?.notBefore ?? 0)).toBe(7_200_000);
  expect(leaf?.uris).toEqual(['spiffe://mesh.example/ns/prod/sa/default']);
});

test('a pod of another namespace gets the names that issueTo allows, and the rest is left out', async () => {
  await world.authority({ podCertificates: {}, issueTo: { namespaceSelector: {} } });
  await service('shop', 'api', { app: 'web' });
  world.operate();
  const pod = await world.certifiedPod('shop/web');
  const leaf = leafIn(await world.answered(await world.request(pod)));
  expect(leaf?.dnsNames).toEqual(['api.shop.svc', 'api.shop.svc.cluster.local']);
  expect(leaf?.uris).toEqual([]);
  await said('shop', 'NamesLeftOut', 'spiffe://');
});

test('a pod of a namespace that issueTo does not select is denied a certificate', async () => {
  await world.authority(FOR_PODS);
  world.operate();
  const { conditions } = await world.answered(await world.request(await world.certifiedPod('shop/web')));
  expect(conditions?.[0]).toMatchObject({ type: 'Denied', reason: 'Policy' });
  expect(conditions?.[0]?.message).toContain('spec.issueTo.namespaceSelector');
});

test('a certificate request with a stolen key, damage or a foreign pod fails; one with a weak key or annotations is denied', async () => {
  await world.authority(FOR_PODS);
  world.operate();
  const pod = await world.certifiedPod('prod/web');
  const stolen = stubRequest(newKey(), newKey().privateKey);
  const edwards = stubRequest(generateKeyPairSync('ed25519'));
  const bare = await world.kube.create(pods, {
    ...certifiedPod('prod', 'bare', SIGNER),
    spec: {
      nodeName: 'node-1',
      serviceAccountName: 'default',
      containers: [{ name: 'main', image: 'none' }],
    },
  } as KubeObject);
  const reasons = async (whose: KubeObject, spec: object): Promise<string> => {
    const [condition] = (await world.answered(await world.request(whose, spec))).conditions ?? [];
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

test('a certificate request waits for an Authority that does not sign for pods yet, and an Event on the pod says so', async () => {
  await world.authority({});
  world.operate();
  const pod = await world.certifiedPod('prod/web');
  // Another Authority that signs for pods has the operator look at requests at all.
  await world.authority(FOR_PODS, 'shop/other');
  const name = await world.request(pod);
  await said('prod', 'PodCertificateWaits', 'set its spec.podCertificates');
  expect((await world.answerTo(name)).conditions).toBeUndefined();
  await world.kube.patch(
    RESOURCE_KINDS.Authority,
    { namespace: 'prod', name: 'mesh' },
    { merge: { spec: { podCertificates: {} } } },
  );
  expect((await world.answered(name)).conditions?.[0]).toMatchObject({ type: 'Issued' });
});

test('a certificate request for a pod that was replaced gets no answer, nor does one to another signer', async () => {
  await world.authority(FOR_PODS);
  world.operate();
  const pod = await world.certifiedPod('prod/web');
  const stale = await world.request(pod, { podUID: 'another' });
  const foreign = await world.kube.create(
    REQUESTS,
    requestFor(pod, SIGNER, { signerName: 'example.com/mesh' }),
  );
  // Answered last, so that the two before it have been looked at.
  await world.answered(await world.request(pod));
  expect((await world.answerTo(stale)).conditions).toBeUndefined();
  expect((await world.answerTo(`prod/${foreign.metadata.name}`)).conditions).toBeUndefined();
});
