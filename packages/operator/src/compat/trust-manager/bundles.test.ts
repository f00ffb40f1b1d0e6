import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ControllerEvent } from '@handover/engine';
import { connect, customResourceDefinitions, type KubeObject, namespaces } from '@handover/kube';
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

/** A server with the kind, some namespaces and a keeper of Bundles. */
const open = async (more: {
  readonly defaultCas: boolean;
  readonly secretTargets: boolean;
}): Promise<{ readonly world: OwnWorld; readonly stop: () => Promise<void> }> => {
  const server = await FakeApiServer.start();
  const end = new AbortController();
  const kube = connect(server.config, { signal: end.signal, rate: false });
  await kube.create(customResourceDefinitions, BUNDLE_CRD as unknown as KubeObject);
  for (const name of ['default', 'kube-system', 'cert-manager', 'shop'])
    if ((await kube.get(namespaces, { name })) === undefined)
      await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const folder = mkdtempSync(join(tmpdir(), 'handover-bundles-'));
  const cas = await newCas();
  const defaultCas = join(folder, 'ca.crt');
  writeFileSync(defaultCas, cas[4]);
  const file = new DefaultCasFile(more.defaultCas ? defaultCas : undefined, () =>
    followed.defaultCasChanged(),
  );
  const followed: FollowedBundles = new FollowedBundles(
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
