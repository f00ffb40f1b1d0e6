import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControllerEvent } from '@handover/engine';
import { configMaps, customResourceDefinitions, type Kube, type KubeObject } from '@handover/kube';
import { apiServer, temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { CASES } from '../../../test/trust-manager/cases.ts';
import { BUNDLE_CRD } from '../../../test/trust-manager/crd.ts';
import { OWN_CASES } from '../../../test/trust-manager/own-cases.ts';
import type { OwnCase, OwnWorld } from '../../../test/trust-manager/own-world.ts';
import { joined, newCas, Scene, TARGET_KEY } from '../../../test/trust-manager/world.ts';
import { BundleReconciler } from './bundle-reconciler.ts';
import { DefaultCasFile } from './default-cas.ts';
import { FollowedBundles } from './followed-bundles.ts';

/** Counts how often the keeper asked before it took a Bundle for gone. */
class AskedBundles extends FollowedBundles {
  asked = 0;
  override get knowsAll(): boolean {
    this.asked++;
    return super.knowsAll;
  }
}

/** A server with the kind, some namespaces and a keeper of Bundles. */
const open = async (more: {
  readonly defaultCas: boolean;
  readonly secretTargets: boolean;
  readonly isServed?: boolean;
  /** Done before the keeper begins. */
  readonly before?: (kube: Kube) => Promise<void>;
}): Promise<{ readonly world: OwnWorld; readonly asked: () => number }> => {
  const { kube, clock } = await apiServer({ namespaces: ['cert-manager', 'shop'] });
  if (more.isServed !== false)
    await kube.create(customResourceDefinitions, BUNDLE_CRD as unknown as KubeObject);
  await more.before?.(kube);
  const cas = await newCas(clock.now());
  const defaultCas = join(temporaryFolder(), 'ca.crt');
  writeFileSync(defaultCas, cas[4]);
  const file = new DefaultCasFile(more.defaultCas ? defaultCas : undefined, clock, () =>
    followed.defaultCasChanged(),
  );
  const followed: AskedBundles = new AskedBundles(
    kube,
    {
      trustNamespace: 'cert-manager',
      defaultCas: () => file.state,
      secretTargets: more.secretTargets,
    },
    false,
  );
  const end = new AbortController();
  await file.start(end.signal);
  await followed.start(end.signal);
  const events: ControllerEvent[] = [];
  const now = () => clock.now();
  const ended = new BundleReconciler({ followed, kube, now, on: (event) => events.push(event) }).run(
    end.signal,
  );
  onTestFinished(async () => {
    end.abort();
    await ended;
  });
  return {
    asked: () => followed.asked,
    world: { kube, trustNamespace: 'cert-manager', cas, defaultCas, events },
  };
};

const played = async ({ run }: OwnCase): Promise<void> => {
  const { world } = await open({ defaultCas: true, secretTargets: true });
  const scene = new Scene(world);
  await scene.begin();
  await run(scene, world);
  await scene.end();
};

test.each(CASES.map((one) => [one.name, one] as const))(
  'a Bundle behaves as trust-manager’s own tests say: %s',
  (_, one) => played(one),
);
test('every case of trust-manager’s own tests is run', () => expect(CASES).toHaveLength(31));

test.each(OWN_CASES.map((one) => [one.name, one] as const))(
  'a Bundle is kept without trust-manager: %s',
  (_, one) => played(one),
);

test('without --secret-targets and --default-cas a Bundle that needs them says so, and its targets stay as they are', async () => {
  const plain = await open({ defaultCas: false, secretTargets: false });
  const scene = new Scene(plain.world);
  await scene.begin();
  await scene.change(({ target }) => {
    target.secret = { key: 'ca.crt' };
  });
  await scene.until('no Secrets', async () => (await scene.condition())?.reason === 'SecretTargetsDisabled');
  await scene.change(({ target, sources }) => {
    delete target.secret;
    sources.push({ useDefaultCAs: true });
  });
  await scene.until('no default CAs', async () => (await scene.condition())?.reason === 'SourceNotFound');
  expect((await scene.condition())?.message).toContain('--default-cas');
  expect(await scene.secretTarget()).toBeUndefined();
  expect((await scene.target())?.data).toEqual({ [TARGET_KEY]: joined(...scene.base) });
});

/** What a Bundle left that went while no operator ran. */
const leave = (name: string, more: Readonly<Record<string, string>>) => async (kube: Kube) => {
  const labels = { 'trust.cert-manager.io/bundle': name, ...more };
  const metadata = { name, namespace: 'shop', labels };
  const base = { apiVersion: 'v1', kind: 'ConfigMap' };
  await kube.create(
    configMaps,
    { ...base, metadata, data: { mine: 'stays' } },
    { namespace: 'shop', fieldManager: 'a-person' },
  );
  const apply = { ...base, metadata: { name, namespace: 'shop' }, data: { 'ca.crt': 'of the Bundle' } };
  await kube.patch(
    configMaps,
    { namespace: 'shop', name },
    { apply, force: true, fieldManager: 'trust-manager' },
  );
};
const ADOPTED = { 'handover.dev/adopt': 'true' };

test('keys of a Bundle that was deleted while no operator ran leave an adopted object, and no other', async () => {
  const plain = await open({
    defaultCas: false,
    secretTargets: false,
    before: async (kube) => {
      await leave('an-orphan', {})(kube);
      await leave('given', ADOPTED)(kube);
    },
  });
  const scene = new Scene(plain.world, 'given');
  const data = async (name: string) => (await new Scene(plain.world, name).target('shop'))?.data;
  await scene.until('the key goes', async () => (await data('given'))?.['ca.crt'] === undefined);
  expect(await data('given')).toEqual({ mine: 'stays' });
  // Looked at before the other: names come in order.
  expect(await data('an-orphan')).toEqual({ mine: 'stays', 'ca.crt': 'of the Bundle' });
});

test('no Bundle counts as deleted while Bundles cannot be listed', async () => {
  const plain = await open({
    defaultCas: false,
    secretTargets: false,
    isServed: false,
    before: leave('given', ADOPTED),
  });
  const scene = new Scene(plain.world, 'given');
  await scene.until('the keeper asks', async () => plain.asked() > 0);
  const { data } = (await scene.target('shop')) ?? {};
  expect(data).toEqual({ mine: 'stays', 'ca.crt': 'of the Bundle' });
});
