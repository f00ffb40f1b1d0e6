import { configMaps, secrets } from '@handover/kube';
import { beforeEach, expect, test } from 'vitest';
import { newCas } from '../../test/trust-manager/world.ts';
import { OperatorWorld } from '../../test/world.ts';
import { openView } from '../run/view.ts';
import { RESOURCE_KINDS } from './declared.ts';

const TRUST = 'handover-system';
const ROLE = { 'example.com/role': 'ca' };

let world: OperatorWorld;
let cas: Awaited<ReturnType<typeof newCas>>;
beforeEach(async () => {
  world = await OperatorWorld.open({ namespaces: ['shop'] });
  cas = await newCas(world.clock.now());
  world.operate();
});

const put = async (
  kind: 'ConfigMap' | 'Secret',
  name: string,
  pem: string,
  labels: object = ROLE,
  namespace = TRUST,
): Promise<void> => {
  const content = kind === 'Secret' ? { stringData: { 'ca.crt': pem } } : { data: { 'ca.crt': pem } };
  await world.kube.patch(
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
  world.ask('TrustBundle', 'all', { sources, targets: [{ configMap: { name: 'all' } }] });

const held = async (): Promise<readonly number[]> => {
  const text = (await world.kube.get(configMaps, { namespace: 'shop', name: 'all' }))?.data?.['ca.crt'] ?? '';
  return cas.flatMap((pem, index) => (text.includes(pem.trim()) ? [index] : []));
};
const holds = (...wanted: readonly number[]): Promise<unknown> =>
  world.until(
    async () => (await held()).join() === wanted.join() || undefined,
    `the target to hold ${wanted}`,
    20_000,
  );

/** The Ready condition in one line. */
const ready = async (): Promise<string | undefined> => {
  const { status } = (await world.kube.get(RESOURCE_KINDS.TrustBundle, { name: 'all' })) as unknown as {
    readonly status?: { readonly conditions: readonly { reason: string; message: string }[] };
  };
  return status?.conditions.map(({ reason, message }) => `${reason} ${message}`).join();
};
const says = (what: string): Promise<unknown> =>
  world.until(async () => (await ready())?.includes(what) || undefined, what, 20_000);

const SELECTED = { selector: { matchLabels: ROLE } };

test('an object of the trust namespace becomes a source with its label, and stops being one without it', async () => {
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
  await world.kube.delete(configMaps, { namespace: TRUST, name: 'two' });
  await holds(3, 4);
});

test('a TrustBundle selects Secrets by expressions too', async () => {
  await put('Secret', 'one', cas[0]);
  await put('Secret', 'two', cas[1], { 'example.com/role': 'other' });
  await put('ConfigMap', 'three', cas[2]);
  const expression = { key: 'example.com/role', operator: 'In', values: ['ca', 'root'] };
  await bundle({ secret: { selector: { matchExpressions: [expression] } } });
  await holds(0);
  await put('Secret', 'two', cas[1], { 'example.com/role': 'root' });
  await holds(0, 1);
});

test('a damaged source, or a selector without any source, is named and leaves the target as it is', async () => {
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
  await says('Written all 5 targets');
});

test('objects that Handover wrote are never selected as sources', async () => {
  await put('ConfigMap', 'one', cas[0]);
  await put('ConfigMap', 'two', cas[1]);
  await bundle({
    configMap: { selector: { matchExpressions: [{ key: 'example.com/none', operator: 'DoesNotExist' }] } },
  });
  await holds(0, 1);
  await world.kube.delete(configMaps, { namespace: TRUST, name: 'two' });
  await holds(0);
});

test('a read-only command selects the same sources as the operator', async () => {
  await put('ConfigMap', 'one', cas[0]);
  await bundle({ configMap: SELECTED });
  await holds(0);
  const { home, read } = await openView({ kube: world.kube, namespace: TRUST, signal: world.signal });
  for (const each of [read, home.fresh]) {
    const { catalogue } = await each();
    expect(catalogue.trustBundles.map(({ spec }) => spec.sources)).toEqual([
      [{ configMap: { name: 'one', key: 'ca.crt' } }],
    ]);
  }
});
