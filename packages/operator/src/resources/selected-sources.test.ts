import { crds } from '@handover/install';
import {
  configMaps,
  connect,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  namespaces,
  secrets,
} from '@handover/kube';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newCas } from '../../test/trust-manager/world.ts';
import { Operator } from '../run/operator.ts';
import { openView } from '../run/view.ts';
import { RESOURCE_KINDS } from './kinds.ts';

const TRUST = 'handover-system';
const ROLE = { 'example.com/role': 'ca' };

let server: FakeApiServer;
let kube: Kube;
let cas: Awaited<ReturnType<typeof newCas>>;
let end: AbortController;
let ended: Promise<void>;
beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  cas = await newCas();
  kube = connect(server.config, { signal: new AbortController().signal, rate: false });
  for (const crd of crds()) await kube.create(customResourceDefinitions, crd as unknown as KubeObject);
  for (const name of [TRUST, 'shop'])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  ended = new Operator({ kube, namespace: TRUST, identity: 'one', on: () => {} }).run(end.signal);
});
afterEach(async () => {
  end.abort();
  await ended;
  await server.stop();
});

const put = async (
  kind: 'ConfigMap' | 'Secret',
  name: string,
  pem: string,
  labels: object = ROLE,
  namespace = TRUST,
): Promise<void> => {
  const content = kind === 'Secret' ? { stringData: { 'ca.crt': pem } } : { data: { 'ca.crt': pem } };
  await kube.patch(
    kind === 'Secret' ? secrets : configMaps,
    { namespace, name },
    {
      apply: { apiVersion: 'v1', kind, metadata: { name, namespace, labels }, ...content },
      force: true,
      fieldManager: 'a-person',
    },
  );
};

const bundle = (...sources: readonly object[]): Promise<unknown> =>
  kube.create(RESOURCE_KINDS.TrustBundle, {
    apiVersion: 'handover.dev/v1alpha1',
    kind: 'TrustBundle',
    metadata: { name: 'all' },
    spec: { sources, targets: [{ configMap: { name: 'all' } }] },
  } as KubeObject);

const held = async (): Promise<readonly number[]> => {
  const text = (await kube.get(configMaps, { namespace: 'shop', name: 'all' }))?.data?.['ca.crt'] ?? '';
  return cas.flatMap((pem, index) => (text.includes(pem.trim()) ? [index] : []));
};
const holds = (...wanted: readonly number[]): Promise<void> =>
  expect.poll(held, { timeout: 20_000 }).toEqual(wanted);

/** The Ready condition in one line. */
const ready = async (): Promise<string | undefined> => {
  const { status } = (await kube.get(RESOURCE_KINDS.TrustBundle, { name: 'all' })) as unknown as {
    readonly status?: { readonly conditions: readonly { reason: string; message: string }[] };
  };
  return status?.conditions.map(({ reason, message }) => `${reason} ${message}`).join();
};
const says = (what: string): Promise<void> => expect.poll(ready, { timeout: 20_000 }).toContain(what);

const SELECTED = { selector: { matchLabels: ROLE } };

test('a label makes an object of the trust namespace a source, and its loss ends that', async () => {
  await put('ConfigMap', 'one', cas[0]);
  await put('ConfigMap', 'two', cas[1], {});
  await put('ConfigMap', 'elsewhere', cas[2], ROLE, 'shop');
  await put('Secret', 'three', cas[3]);
  await bundle({ configMap: SELECTED }, { inline: cas[4] });
  await holds(0, 4);
  await put('ConfigMap', 'two', cas[1]);
  await holds(0, 1, 4);
  await put('ConfigMap', 'one', cas[0], { 'example.com/role': 'other' });
  await holds(1, 4);
  await put('ConfigMap', 'two', cas[2]);
  await holds(2, 4);
  await put('ConfigMap', 'new', cas[3]);
  await holds(2, 3, 4);
  await kube.delete(configMaps, { namespace: TRUST, name: 'two' });
  await holds(3, 4);
});

test('Secrets are selected by expressions too', async () => {
  await put('Secret', 'one', cas[0]);
  await put('Secret', 'two', cas[1], { 'example.com/role': 'other' });
  await put('ConfigMap', 'three', cas[2]);
  const expression = { key: 'example.com/role', operator: 'In', values: ['ca', 'root'] };
  await bundle({ secret: { selector: { matchExpressions: [expression] } } });
  await holds(0);
  await put('Secret', 'two', cas[1], { 'example.com/role': 'root' });
  await holds(0, 1);
});

test('one that is damaged, or none at all, leaves the target as it is, and is named', async () => {
  await put('ConfigMap', 'one', cas[0]);
  await put('ConfigMap', 'two', cas[1]);
  await bundle({ configMap: SELECTED });
  await holds(0, 1);
  await put('ConfigMap', 'one', 'no certificate');
  await says(`SourceMissing ${TRUST}/configmaps/one/ca.crt holds no certificate`);
  expect(await held()).toEqual([0, 1]);
  await put('ConfigMap', 'two', cas[1], {});
  await put('ConfigMap', 'one', cas[0], {});
  await says(`SourceMissing source with a selector: none of the configmaps in ${TRUST} has these labels`);
  expect(await held()).toEqual([0, 1]);
  await put('ConfigMap', 'two', cas[1]);
  await holds(1);
  await says('Written all 4 targets');
});

test('what Handover itself wrote is never selected', async () => {
  await put('ConfigMap', 'one', cas[0]);
  await put('ConfigMap', 'two', cas[1]);
  await bundle({
    configMap: { selector: { matchExpressions: [{ key: 'example.com/none', operator: 'DoesNotExist' }] } },
  });
  await holds(0, 1);
  await kube.delete(configMaps, { namespace: TRUST, name: 'two' });
  await holds(0);
});

test('a command that only looks selects as the operator does', async () => {
  await put('ConfigMap', 'one', cas[0]);
  await bundle({ configMap: SELECTED });
  await holds(0);
  const { home, look } = await openView({ kube, namespace: TRUST, signal: end.signal });
  for (const take of [look, home.fresh]) {
    const { catalogue } = await take();
    expect(catalogue.trustBundles.map(({ spec }) => spec.sources)).toEqual([
      [{ configMap: { name: 'one', key: 'ca.crt' } }],
    ]);
  }
});
