import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configMaps, secrets } from '@handover/kube';
import { systemClock } from '@handover/runtime/clock';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CASES } from '../trust-manager/cases.ts';
import { BUNDLE_CRD } from '../trust-manager/crd.ts';
import { OWN_CASES } from '../trust-manager/own-cases.ts';
import type { OwnWorld } from '../trust-manager/own-world.ts';
import { joined, newCas, Scene, until } from '../trust-manager/world.ts';
import { beyondRights, resource, type Stage, setStage } from './stage.ts';

// trust-manager's own integration cases on a real API server, with the rights and under the policies of an installation.
// Against: kube-apiserver and kube-controller-manager.

let stage: Stage;
let world: OwnWorld;
beforeAll(async () => {
  stage = await setStage({
    installed: { compat: ['trust-manager'], secretTargets: true },
    controllerManager: true,
  });
  await stage.cluster.apply(BUNDLE_CRD);
  await stage.cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  for (const name of ['cert-manager', 'shop']) await stage.cluster.kubectl('create', 'namespace', name);
  const cas = await newCas(systemClock.now());
  const defaultCas = join(stage.cluster.directory, 'default-cas.pem');
  writeFileSync(defaultCas, cas[4]);
  stage.start('one', {
    injection: { compat: ['trust-manager'] },
    scope: { defaultCas },
    bundles: { secretTargets: true },
  });
  world = { kube: stage.kube, trustNamespace: 'cert-manager', cas, defaultCas, events: stage.events };
}, 180_000);
afterAll(() => stage.stop());

const staged = async (run: (scene: Scene, world: OwnWorld) => Promise<void>): Promise<void> => {
  const scene = new Scene(world);
  await scene.begin();
  await run(scene, world);
  await scene.end();
};

describe('as trust-manager’s own tests say', () => {
  test.each(CASES.map(({ name, run }) => [name, run] as const))('%s', (_, run) => staged(run));
});

describe('and beyond them', () => {
  test.each(OWN_CASES.map(({ name, run }) => [name, run] as const))('%s', (_, run) => staged(run));

  test('with the Bundle go its targets', () =>
    staged(async (scene) => {
      const other = new Scene(world);
      await other.begin();
      await other.end();
      await until('the targets go', async () => {
        const targets = await Promise.all(
          (await scene.namespaces()).map((namespace) => other.target(namespace)),
        );
        return targets.every((target) => target === undefined);
      });
      expect((await scene.target())?.data).toEqual({ 'target-key': joined(...scene.base) });
    }));

  test('a Bundle follows a rotation: its source is the target of a TrustBundle', async () => {
    await stage.cluster.apply(
      resource('Authority', 'mesh', { lifetime: '1y', rotation: { reloadWithin: '10s' } }, 'shop'),
      resource('TrustBundle', 'mesh', {
        sources: [{ authority: 'shop/mesh' }],
        targets: [
          {
            configMap: {
              name: 'mesh-from-handover',
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'cert-manager' } },
            },
          },
        ],
      }),
    );
    const ours = async (): Promise<string | undefined> =>
      (await stage.kube.get(configMaps, { namespace: 'cert-manager', name: 'mesh-from-handover' }))?.data?.[
        'ca.crt'
      ];
    const pems = (text: string): readonly string[] =>
      text.match(/-----BEGIN[\s\S]*?-----END CERTIFICATE-----\n?/g) ?? [];
    await until('our target', ours);
    const scene = new Scene(world);
    await scene.create({
      sources: [{ configMap: { name: 'mesh-from-handover', key: 'ca.crt' } }],
      target: { configMap: { key: 'target-key' } },
    });
    const first = (await ours()) ?? '';
    await scene.synced(joined(...pems(first)));
    await stage.cluster.kubectl('-n', 'shop', 'annotate', 'authority', 'mesh', 'handover.dev/rotate=again');
    await until('the next CA beside the first', async () => pems((await ours()) ?? '').length === 2);
    await scene.synced(joined(...pems((await ours()) ?? '')));
    await until(
      'the first CA leaves',
      async () => !((await ours()) ?? first).includes(pems(first)[0] ?? ''),
      120_000,
    );
    await scene.synced(joined(...pems((await ours()) ?? '')));
    await scene.end();
  }, 240_000);

  test('a TrustBundle takes two keys of one ConfigMap, and the default CAs', async () => {
    const [one, two, , , five] = world.cas;
    await stage.cluster.kubectl(
      ...['-n', 'handover-system', 'create', 'configmap', 'two'],
      ...[`--from-literal=a=${one}`, `--from-literal=b=${two}`],
    );
    await stage.cluster.apply(
      resource('TrustBundle', 'two', {
        sources: [
          { configMap: { name: 'two', key: 'a' } },
          { configMap: { name: 'two', key: 'b' } },
          { defaultCas: true },
        ],
        targets: [
          {
            configMap: {
              name: 'two',
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } },
            },
          },
        ],
      }),
    );
    const held = await until('the target', async () => {
      const found = await stage.kube.get(configMaps, { namespace: 'shop', name: 'two' });
      return found?.data?.['ca.crt'];
    });
    for (const pem of [one, two, five]) expect(held).toContain(pem);
    expect(held.match(/BEGIN/g)).toHaveLength(3);
  });

  test('a TrustBundle takes what has a label, and follows the label', async () => {
    const [one, two] = world.cas;
    for (const [name, pem] of [
      ['labelled', one],
      ['unlabelled', two],
    ] as const)
      await stage.cluster.kubectl(
        ...['-n', 'handover-system', 'create', 'configmap', name, `--from-literal=ca.crt=${pem}`],
      );
    const label = (name: string): Promise<string> =>
      stage.cluster.kubectl('-n', 'handover-system', 'label', 'configmap', name, 'example.com/role=ca');
    await label('labelled');
    await stage.cluster.apply(
      resource('TrustBundle', 'labelled', {
        sources: [{ configMap: { selector: { matchLabels: { 'example.com/role': 'ca' } } } }],
        targets: [
          {
            configMap: {
              name: 'by-label',
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } },
            },
          },
        ],
      }),
    );
    const held = async (): Promise<string> =>
      (await stage.kube.get(configMaps, { namespace: 'shop', name: 'by-label' }))?.data?.['ca.crt'] ?? '';
    await until('the labelled one', async () => (await held()).includes(one));
    expect(await held()).not.toContain(two);
    await label('unlabelled');
    await until('the other one', async () => (await held()).includes(two));
  });

  test('the policies let nothing else be deleted, and no object of others be made a target', async () => {
    const as = ['--as=system:serviceaccount:handover-system:handover'];
    const refused = (...words: readonly string[]): Promise<string> =>
      stage.cluster.kubectl(...words, ...as).then(
        () => 'allowed',
        (error: Error) => error.message,
      );
    await stage.cluster.kubectl('-n', 'shop', 'create', 'configmap', 'of-the-shop', '--from-literal=a=b');
    await stage.cluster.kubectl(
      '-n',
      'shop',
      'create',
      'secret',
      'generic',
      'of-the-shop',
      '--from-literal=a=b',
    );
    expect(await refused('-n', 'shop', 'delete', 'configmap', 'of-the-shop')).toContain(
      'targets of a Bundle',
    );
    expect(await refused('-n', 'shop', 'delete', 'secret', 'of-the-shop')).toContain('targets of a Bundle');
    expect(
      await refused('-n', 'shop', 'label', 'secret', 'of-the-shop', 'trust.cert-manager.io/bundle=other'),
    ).toContain('label');
    expect(
      await refused(
        '-n',
        'shop',
        'label',
        'configmap',
        'of-the-shop',
        'trust.cert-manager.io/bundle=of-the-shop',
      ),
    ).toContain('handover.dev/adopt');
    expect(await stage.kube.get(configMaps, { namespace: 'shop', name: 'of-the-shop' })).toBeDefined();
    expect(await stage.kube.get(secrets, { namespace: 'shop', name: 'of-the-shop' })).toBeDefined();
  });

  test('the policies let no Bundle be written into what Handover keeps, whatever its labels say', async () => {
    const as = ['--as=system:serviceaccount:handover-system:handover'];
    const answer = (...words: readonly string[]): Promise<string> =>
      stage.cluster.kubectl('-n', 'shop', ...words, ...as).catch((error: Error) => error.message);
    for (const kind of ['ConfigMap', 'Secret']) {
      const labels = { 'handover.dev/managed': 'true', 'trust.cert-manager.io/bundle': 'kept-for-ours' };
      const metadata = { name: 'kept-for-ours', namespace: 'shop', labels };
      await stage.cluster.apply({ apiVersion: 'v1', kind, metadata, data: {} });
      const write = (mark: string) => answer('annotate', kind, 'kept-for-ours', mark, '--overwrite');
      expect(await write('trust.cert-manager.io/hash=of-a-bundle')).toContain('no Bundle into');
      expect(await answer('label', kind, 'kept-for-ours', 'handover.dev/managed-')).toContain(
        'no Bundle into',
      );
      expect(await answer('delete', kind, 'kept-for-ours')).toContain('targets of a Bundle');
      expect(await write('handover.dev/record={}')).toContain('annotated');
    }
  });

  test('nothing was asked for that the roles do not allow', () => {
    expect(beyondRights(stage, ['trust-manager'], { secretTargets: true })).toEqual([]);
  });
});
