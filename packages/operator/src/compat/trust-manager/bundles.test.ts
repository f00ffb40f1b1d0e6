import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ControllerEvent } from '@handover/engine';
import {
  configMaps,
  connect,
  customResourceDefinitions,
  type Kube,
  type KubeObject,
  namespaces,
} from '@handover/kube';
import { instant } from '@handover/material';
import { FakeApiServer } from '@handover/test-api-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CASES } from '../../../test/trust-manager/cases.ts';
import { BUNDLE_CRD } from '../../../test/trust-manager/crd.ts';
import { OWN_CASES } from '../../../test/trust-manager/own-cases.ts';
import type { OwnWorld } from '../../../test/trust-manager/own-world.ts';
import { joined, newCas, Scene, TARGET_KEY, until } from '../../../test/trust-manager/world.ts';
import { BundleKeeper } from './bundle-keeper.ts';
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
}): Promise<{
  readonly world: OwnWorld;
  readonly stop: () => Promise<void>;
  readonly asked: () => number;
}> => {
  const server = await FakeApiServer.start();
  const end = new AbortController();
  const kube = connect(server.config, { signal: end.signal, rate: false });
  if (more.isServed !== false)
    await kube.create(customResourceDefinitions, BUNDLE_CRD as unknown as KubeObject);
  for (const name of ['default', 'kube-system', 'cert-manager', 'shop'])
    if ((await kube.get(namespaces, { name })) === undefined)
      await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await more.before?.(kube);
  const folder = mkdtempSync(join(tmpdir(), 'handover-bundles-'));
  const cas = await newCas();
  const defaultCas = join(folder, 'ca.crt');
  writeFileSync(defaultCas, cas[4]);
  const file = new DefaultCasFile(more.defaultCas ? defaultCas : undefined, () =>
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
  await file.start(end.signal);
  await followed.start(end.signal);
  const events: ControllerEvent[] = [];
  const now = () => instant(Date.now());
  const ended = new BundleKeeper({ followed, kube, now, on: (event) => events.push(event) }).run(end.signal);
  return {
    asked: () => followed.asked,
    world: { kube, trustNamespace: 'cert-manager', cas, defaultCas, events },
    stop: async () => {
      end.abort();
      await ended;
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
};

let world: OwnWorld;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ world, stop } = await open({ defaultCas: true, secretTargets: true }));
});
afterAll(() => stop());

describe('as trust-manager’s own tests say', () => {
  test.each(CASES.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    const scene = new Scene(world);
    await scene.begin();
    await run(scene, world);
    await scene.end();
  });
  test('no case is left out', () => expect(CASES).toHaveLength(31));
});

describe('and beyond them', () => {
  test.each(OWN_CASES.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    const scene = new Scene(world);
    await scene.begin();
    await run(scene, world);
    await scene.end();
  });
});

test('without --secret-targets and --default-cas a Bundle that needs them says so, and its targets stay as they are', async () => {
  const plain = await open({ defaultCas: false, secretTargets: false });
  const scene = new Scene(plain.world);
  await scene.begin();
  await scene.change(({ target }) => {
    target.secret = { key: 'ca.crt' };
  });
  await until('no Secrets', async () => (await scene.condition())?.reason === 'SecretTargetsDisabled');
  await scene.change(({ target, sources }) => {
    delete target.secret;
    sources.push({ useDefaultCAs: true });
  });
  await until('no default CAs', async () => (await scene.condition())?.reason === 'SourceNotFound');
  expect((await scene.condition())?.message).toContain('--default-cas');
  expect(await scene.secretTarget()).toBeUndefined();
  expect((await scene.target())?.data).toEqual({ [TARGET_KEY]: joined(...scene.base) });
  await plain.stop();
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

test('the keys of a Bundle that went while no operator ran leave an object that was given over, and no other', async () => {
  const plain = await open({
    defaultCas: false,
    secretTargets: false,
    before: async (kube) => {
      await leave('an-orphan', {})(kube);
      await leave('given', ADOPTED)(kube);
    },
  });
  const data = async (name: string) => (await new Scene(plain.world, name).target('shop'))?.data;
  await until('the key goes', async () => (await data('given'))?.['ca.crt'] === undefined);
  expect(await data('given')).toEqual({ mine: 'stays' });
  // Looked at before the other: names come in order.
  expect(await data('an-orphan')).toEqual({ mine: 'stays', 'ca.crt': 'of the Bundle' });
  await plain.stop();
});

test('while Bundles cannot be listed none of them counts as gone', async () => {
  const plain = await open({
    defaultCas: false,
    secretTargets: false,
    isServed: false,
    before: leave('given', ADOPTED),
  });
  await until('the keeper asks', async () => plain.asked() > 0);
  const { data } = (await new Scene(plain.world, 'given').target('shop')) ?? {};
  expect(data).toEqual({ mine: 'stays', 'ca.crt': 'of the Bundle' });
  await plain.stop();
});
