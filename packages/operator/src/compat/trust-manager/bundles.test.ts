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
import { OWN_CASES, type OwnWorld } from '../../../test/trust-manager/own-cases.ts';
import { newCas, Scene } from '../../../test/trust-manager/world.ts';
import { BundleKeeper } from './bundle-keeper.ts';
import { FollowedBundles } from './followed-bundles.ts';

let world: OwnWorld;
let stop: () => Promise<void>;

beforeAll(async () => {
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
  const followed = new FollowedBundles(
    kube,
    { trustNamespace: 'cert-manager', defaultCas, secretTargets: true },
    false,
  );
  await followed.start(end.signal);
  const events: ControllerEvent[] = [];
  const now = () => instant(Date.now());
  const ended = new BundleKeeper({ followed, kube, now, on: (event) => events.push(event) }).run(end.signal);
  world = { kube, trustNamespace: 'cert-manager', cas, defaultCas, events };
  stop = async () => {
    end.abort();
    await ended;
    await server.stop();
    rmSync(folder, { recursive: true });
  };
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
