import { parseResources, type Resource } from '@handover/core';
import { type CertgenResult, envoyGateway, type IssuedEntry } from '@handover/engine';
import { type Kube, type KubeObject, mutatingWebhookConfigurations, pods, secrets } from '@handover/kube';
import { parseCertificates } from '@handover/material';
import { apiServer, type FakeApiServer } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { openCertgen } from './certgen.ts';

const NAMESPACE = 'envoy-gateway-system';
const WEBHOOK = `envoy-gateway-topology-injector.${NAMESPACE}`;
let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ server, kube, stop: end } = await apiServer({ namespaces: [NAMESPACE, 'elsewhere'] }));
  await kube.create(mutatingWebhookConfigurations, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: WEBHOOK },
    webhooks: [{ name: 'a.example.com', clientConfig: {} }],
  } as KubeObject);
});

const { resources: preset, randomSecrets } = envoyGateway(NAMESPACE);
const run = async (
  options: {
    readonly rotationId?: string;
    readonly namespace?: string;
    readonly resources?: readonly Resource[];
  } = {},
): Promise<readonly CertgenResult[]> => {
  const { rotationId, namespace = NAMESPACE, resources = preset } = options;
  const takesOver = rotationId !== undefined;
  const home = await openCertgen({ kube, namespace, resources, takesOver, signal: end.signal });
  const results = await home.run({ overwrite: false, rotationId });
  for (const secret of randomSecrets) await home.makeRandomSecret(secret);
  return results;
};
const text = async (name: string, key: string): Promise<string> =>
  Buffer.from(
    (await kube.get(secrets, { namespace: NAMESPACE, name }))?.data?.[key] ?? '',
    'base64',
  ).toString();
const bundle = async (): Promise<string> => {
  const found = (await kube.get(mutatingWebhookConfigurations, { name: WEBHOOK })) as
    | { webhooks: readonly { clientConfig: { caBundle?: string } }[] }
    | undefined;
  return Buffer.from(found?.webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
};
const writes = (): number => server.requests.filter(({ method }) => method !== 'GET').length;

test('every certificate of a run is logged with its serial before any object holds it', async () => {
  const entries: IssuedEntry[] = [];
  const before: number[] = [];
  const home = await openCertgen({
    kube,
    namespace: NAMESPACE,
    resources: preset,
    takesOver: true,
    onIssued: (entry) => {
      entries.push(entry);
      before.push(writes());
    },
    signal: end.signal,
  });
  const first = writes();
  await home.run({ overwrite: false, rotationId: 'install' });
  expect(entries[0]).toMatchObject({ kind: 'ca', generation: 1 });
  expect(before[0]).toBe(first);
  const known = entries.map(({ fingerprint }) => fingerprint);
  const leaves = entries.filter(({ kind }) => kind === 'leaf');
  expect(leaves.length).toBeGreaterThan(1);
  for (const { for: leaf } of leaves)
    for (const { fingerprint } of parseCertificates(await text(leaf.name, 'tls.crt')).certificates)
      expect(known).toContain(fingerprint);
});

/** A pod by itself that mounts a Secret and says nothing about itself. */
const silentPod = (name: string, secretName: string, ownerReferences: readonly object[] = []): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, ownerReferences },
    spec: {
      containers: [{ name: 'main', volumeMounts: [{ name: 'certs', mountPath: '/certs' }] }],
      volumes: [{ name: 'certs', secret: { secretName } }],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }) as KubeObject;

test('a second run writes nothing; runs list only pods, and watch nothing', async () => {
  await run();
  const before = writes();
  expect(await run()).toMatchObject([{ phase: 'Stable', written: 0 }]);
  expect(writes()).toBe(before);
  const lists = server.requests.filter(
    ({ method, path }) => method === 'GET' && /\/(pods|secrets|configmaps)$/.test(path),
  );
  expect(new Set(lists.map(({ path }) => path))).toEqual(new Set([`/api/v1/namespaces/${NAMESPACE}/pods`]));
  expect(server.requests.filter(({ query }) => query.has('watch'))).toEqual([]);
});

test('the caBundle of the webhook is restored in every run, and the HMAC is made once', async () => {
  await run();
  expect(await bundle()).toBe(await text('envoy', 'ca.crt'));
  const hmac = await kube.get(secrets, { namespace: NAMESPACE, name: 'envoy-oidc-hmac' });
  await kube.patch(
    mutatingWebhookConfigurations,
    { name: WEBHOOK },
    { merge: { webhooks: [{ name: 'a.example.com', clientConfig: { caBundle: 'Cg==' } }] } },
  );
  expect(await run()).toMatchObject([{ written: 1 }]);
  expect(await bundle()).toBe(await text('envoy', 'ca.crt'));
  expect(await kube.get(secrets, { namespace: NAMESPACE, name: 'envoy-oidc-hmac' })).toEqual(hmac);
});

test('a run from another namespace than the first is refused before anything is written', async () => {
  await run({ namespace: 'elsewhere' });
  const before = writes();
  await expect(run({ rotationId: 'x' })).rejects.toMatchObject({ code: 'CERTGEN_KEPT_ELSEWHERE' });
  expect(writes()).toBe(before);
  expect(await run({ namespace: 'elsewhere' })).toMatchObject([{ written: 0 }]);
});

test('a Secret of another program is taken over only with --overwrite', async () => {
  const { kube: theirs } = await apiServer({ namespaces: [NAMESPACE] });
  const given = await openCertgen({
    kube: theirs,
    namespace: NAMESPACE,
    resources: preset,
    takesOver: false,
    signal: end.signal,
  });
  await given.run({ overwrite: false });
  for (const name of ['envoy', 'envoy-gateway', 'envoy-rate-limit']) {
    const { data } = (await theirs.get(secrets, { namespace: NAMESPACE, name })) ?? {};
    await kube.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name, namespace: NAMESPACE },
      ...(data === undefined ? {} : { data }),
    });
  }
  const before = await text('envoy', 'tls.crt');
  expect(await run()).toMatchObject([{ written: 0 }]);
  expect(await run({ rotationId: 'takeover' })).toMatchObject([
    { phase: 'Introducing', rotation: 'takeover' },
  ]);
  expect(parseCertificates(await text('envoy', 'ca.crt')).certificates).toHaveLength(2);
  expect(await text('envoy', 'tls.crt')).toBe(before);
});

test('pods without annotations count as their Leaf declares, and only pods that mount its Secret count', async () => {
  await run();
  await kube.create(pods, silentPod('proxy', 'envoy'));
  await kube.create(pods, silentPod('limit', 'envoy-rate-limit'));
  const set = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'far', uid: 'u', controller: true };
  await kube.create(pods, silentPod('stranger', 'something-else', [set]));
  const [result] = await run({ rotationId: 'x' });
  const waits = Object.fromEntries(
    (result?.blockedBy ?? []).map(({ consumer, waitsFor }) => [consumer, waitsFor]),
  );
  expect(waits[`Pod ${NAMESPACE}/proxy`]).toBe('to load CA generation 2');
  expect(waits[`Pod ${NAMESPACE}/limit`]).toBe('to restart with CA generation 2');
  expect(Object.keys(waits).filter((consumer) => consumer.includes('far'))).toEqual([]);
  // Nor is it asked who makes them.
  expect(server.requests.filter(({ path }) => path.includes('/replicasets/'))).toEqual([]);
});

test('a rotation that was refused is not begun by a later run', async () => {
  await run();
  await run({ rotationId: 'a' });
  await expect(run({ rotationId: 'b' })).rejects.toMatchObject({ code: 'ROTATION_WAITS' });
  const [result] = await run({ rotationId: 'a' });
  expect(result).toMatchObject({ rotation: 'a', phase: 'Activating' });
});

test('resources that name no webhook need no right to one', async () => {
  const own = parseResources(
    [
      { kind: 'Authority', metadata: { name: 'own', namespace: NAMESPACE }, spec: {} },
      {
        kind: 'Leaf',
        metadata: { name: 'x', namespace: NAMESPACE },
        spec: { authority: 'own', dnsNames: ['x'] },
      },
    ].map((value) => ({ value: { apiVersion: 'handover.dev/v1alpha1', ...value }, where: 'test' })),
  );
  server.requests.length = 0;
  await run({ resources: own });
  expect(server.requests.filter(({ path }) => path.includes('webhook'))).toEqual([]);
});

test('a namespace that does not exist is an error with its own code', async () => {
  await expect(run({ namespace: 'nowhere' })).rejects.toMatchObject({ code: 'KUBE_NOT_FOUND' });
});
