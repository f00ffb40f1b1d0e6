import { generateKey, issueCa, localSigner } from '@handover/core';
import { crds } from '@handover/install';
import {
  connect,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  namespaces,
  secrets,
} from '@handover/kube';
import { encodePem, instant } from '@handover/material';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RESOURCE_KINDS } from '../resources/kinds.ts';
import { Operator } from './operator.ts';

let server: FakeApiServer;
let kube: Kube;
let end: AbortController;
let ended: Promise<void> | undefined;
/** Passes over each authority that found nothing left to do. */
const passes = new Map<string, number>();
beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  kube = connect(server.config, { signal: new AbortController().signal, rate: false });
  for (const crd of crds()) await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
  for (const name of ['handover-system', 'prod', 'evil', 'other'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  passes.clear();
});
afterEach(async () => {
  end.abort();
  await ended;
  await server.stop();
});

const operate = (): void => {
  const operator = new Operator({
    kube,
    namespace: 'handover-system',
    identity: 'one',
    on: (event) => {
      if (event.kind === 'rested') passes.set(event.authority, (passes.get(event.authority) ?? 0) + 1);
    },
  });
  ended = operator.run(end.signal);
};
const ask = (kind: 'Authority' | 'Leaf', namespace: string, name: string, spec: object): Promise<unknown> =>
  kube.create(RESOURCE_KINDS[kind], {
    apiVersion: 'handover.dev/v1alpha1',
    kind,
    metadata: { namespace, name },
    spec,
  } as KubeObject);
const leaf = (namespace: string, name: string, authority: string): Promise<unknown> =>
  ask('Leaf', namespace, name, { authority, dnsNames: [`${name}.${namespace}.svc`] });
const issued = (namespace: string, name: string): Promise<void> =>
  expect
    .poll(async () => (await kube.get(secrets, { namespace, name }))?.data?.['tls.crt'], { timeout: 10_000 })
    .toBeDefined();
const asksFor = (name: string): readonly (typeof server.requests)[number][] =>
  server.requests.filter(
    ({ path, query }) =>
      path.includes('/namespaces/evil/secrets') &&
      (path.endsWith(`/${name}`) || query.get('fieldSelector') === `metadata.name=${name}`),
  );

test('500 Authorities of one namespace that adopt Secrets which do not come delay no authority of another', async () => {
  server.faults.add({
    when: ({ path, query }) =>
      path.includes('/namespaces/evil/secrets') &&
      (path.includes('/ca-') || query.get('fieldSelector')?.includes('ca-') === true),
    times: 100_000,
    does: 'hang',
  });
  await ask('Authority', 'prod', 'mesh', {});
  await leaf('prod', 'before', 'mesh');
  for (let index = 0; index < 500; index++)
    await ask('Authority', 'evil', `a${index}`, { adopt: { secret: `ca-${index}` } });
  operate();
  await issued('prod', 'before');
  await leaf('prod', 'after', 'mesh');
  await issued('prod', 'after');
  // They are asked for, a few at a time, and no watch is spent on them.
  const asked = server.requests.filter(({ path }) => path.includes('/namespaces/evil/secrets/ca-'));
  expect(asked.length).toBeGreaterThan(0);
  expect(new Set(asked.map(({ path }) => path)).size).toBeLessThanOrEqual(8);
  expect(server.requests.filter(({ query }) => query.get('fieldSelector')?.includes('ca-') === true)).toEqual(
    [],
  );
}, 60_000);

const ownCa = async (): Promise<{ readonly certificate: string; readonly key: string }> => {
  const { privateKey } = generateKey('ECDSA-P256');
  const now = Date.now();
  const der = await issueCa({
    name: 'old',
    generation: 1,
    signer: localSigner(privateKey),
    serial: new Uint8Array(16).fill(7),
    notBefore: instant(now - 60_000),
    notAfter: instant(now + 3_600_000),
  });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return { certificate: encodePem('CERTIFICATE', der), key };
};

test('a Secret that an Authority adopts is asked for until the Authority has its CA, and no more then', async () => {
  const { certificate, key } = await ownCa();
  const data = { 'tls.crt': certificate, 'tls.key': key };
  await kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'evil', name: 'ca-old' },
    data: Object.fromEntries(
      Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
    ),
  });
  await ask('Authority', 'evil', 'mesh', { adopt: { secret: 'ca-old' } });
  operate();
  await leaf('evil', 'web', 'mesh');
  await issued('evil', 'web');
  const found = await kube.get(secrets, { namespace: 'evil', name: 'web' });
  expect(Buffer.from(found?.data?.['ca.crt'] ?? '', 'base64').toString()).toContain(certificate.trim());
  const asked = asksFor('ca-old').length;
  expect(asked).toBeGreaterThan(0);
  for (const name of ['second', 'third']) {
    await leaf('evil', name, 'mesh');
    await issued('evil', name);
  }
  expect(asksFor('ca-old')).toHaveLength(asked);
}, 60_000);

test('a resource of one namespace has no authority of another looked at that it does not name', async () => {
  await ask('Authority', 'prod', 'mesh', { issueTo: { namespaceSelector: {} } });
  await ask('Authority', 'other', 'own', {});
  await leaf('prod', 'web', 'mesh');
  operate();
  await issued('prod', 'web');
  await expect.poll(() => passes.get('other/own') ?? 0, { timeout: 10_000 }).toBeGreaterThan(0);
  const before = new Map(passes);
  const began = performance.now();
  await ask('Authority', 'evil', 'own', {});
  for (let index = 0; index < 20; index++) {
    await leaf('evil', `l${index}`, 'own');
    await issued('evil', `l${index}`);
  }
  const seconds = (performance.now() - began) / 1_000;
  // Looks that nothing calls for come every 20 s at the most.
  const most = 1 + Math.ceil(seconds / 20);
  for (const id of ['prod/mesh', 'other/own'])
    expect((passes.get(id) ?? 0) - (before.get(id) ?? 0)).toBeLessThanOrEqual(most);

  // One that it names is looked at, at once.
  await leaf('evil', 'named', 'prod/mesh');
  await issued('evil', 'named');
  expect((passes.get('other/own') ?? 0) - (before.get('other/own') ?? 0)).toBeLessThanOrEqual(most + 1);
}, 60_000);

test('resources that change all the time neither make an Authority forget what it adopts, nor keep it waiting', async () => {
  const { certificate, key } = await ownCa();
  const data = Object.fromEntries(
    Object.entries({ 'ca.crt': certificate, 'tls.crt': certificate, 'tls.key': key }).map(([name, text]) => [
      name,
      Buffer.from(text).toString('base64'),
    ]),
  );
  operate();
  const end = new AbortController();
  await leaf('evil', 'restless', 'absent');
  const churn = (async () => {
    for (let index = 0; !end.signal.aborted; index++)
      await kube.patch(
        RESOURCE_KINDS.Leaf,
        { namespace: 'evil', name: 'restless' },
        { merge: { spec: { dnsNames: [`a${index}.evil.svc`] } } },
      );
  })();
  try {
    for (let index = 0; index < 8; index++) {
      const name = `web${index}`;
      const labels = { 'handover.dev/adopt': 'true' };
      await kube.create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'prod', name, labels },
        data,
      });
      await ask('Authority', 'prod', name, { adopt: { secret: name } });
      await kube.create(RESOURCE_KINDS.Leaf, {
        apiVersion: 'handover.dev/v1alpha1',
        kind: 'Leaf',
        metadata: { namespace: 'prod', name, annotations: labels },
        spec: { authority: name, dnsNames: [`${name}.prod.svc`] },
      } as KubeObject);
      const held = async (file: string): Promise<string> => {
        const found = await kube.get(secrets, { namespace: 'prod', name });
        return Buffer.from(found?.data?.[file] ?? '', 'base64')
          .toString()
          .trim();
      };
      await expect.poll(() => held('tls.crt'), { timeout: 10_000 }).not.toBe(certificate.trim());
      expect(await held('ca.crt')).toContain(certificate.trim());
    }
  } finally {
    end.abort();
    await churn;
  }
}, 120_000);

test('a Leaf that was deleted and made anew while the API server was away is issued anew, though its generation is the same', async () => {
  await ask('Authority', 'prod', 'mesh', {});
  await leaf('prod', 'web', 'mesh');
  operate();
  await issued('prod', 'web');
  await expect.poll(() => passes.get('prod/mesh') ?? 0, { timeout: 10_000 }).toBeGreaterThan(0);
  const held = async (): Promise<string | undefined> =>
    (await kube.get(secrets, { namespace: 'prod', name: 'web' }))?.data?.['tls.crt'];
  const before = await held();
  await server.stop();
  const { store } = server;
  const kind = store.kind('handover.dev', 'v1alpha1', 'leaves');
  const place = { namespace: 'prod', name: 'web' };
  store.delete(kind, place, {}, false);
  const made = {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'Leaf',
    metadata: place,
    spec: { authority: 'mesh', dnsNames: ['other.prod.svc'] },
  };
  store.create(kind, place, made as never, { manager: 'kubectl', subresource: '', dryRun: false });
  server.compact();
  await server.start();
  await expect.poll(() => held().catch(() => before), { timeout: 20_000 }).not.toBe(before);
}, 60_000);
