import { configMaps, namespaces } from '@handover/kube';
import { namespaceObject } from '@handover/test-api-server';
import { expect } from 'vitest';
import { checkStore } from './stores.ts';
import { type BundleWorld, freshName, joined, type Scene, TARGET_KEY } from './world.ts';

/** What trust-manager's own integration tests say of a Bundle, each in a world where some program keeps Bundles. */
export interface Case {
  readonly name: string;
  readonly run: (scene: Scene, world: BundleWorld) => Promise<void>;
}

type Kind = 'configMap' | 'secret';
const put = (
  scene: Scene,
  kind: Kind,
  name: string,
  data: Readonly<Record<string, string>>,
): Promise<void> => (kind === 'configMap' ? scene.putConfigMap(name, data) : scene.putSecret(name, data));

/** Cases that are the same for ConfigMaps and Secrets as sources. */
const ofKind = (kind: Kind): readonly Case[] => [
  {
    name: `a ${kind} source that is added reaches every target`,
    run: async (scene, { cas: [, , , four] }) => {
      const name = freshName('source');
      await put(scene, kind, name, { key: four });
      await scene.addSource({ [kind]: { name, key: 'key' } });
      await scene.synced(joined(...scene.base, four));
    },
  },
  {
    name: `a ${kind} source with all of its keys reaches every target`,
    run: async (scene, { cas: [, , , four, five] }) => {
      const name = freshName('source');
      await put(scene, kind, name, { one: four, two: five });
      await scene.addSource({ [kind]: { name, includeAllKeys: true } });
      await scene.synced(joined(...scene.base, four, five));
    },
  },
  {
    name: `a new key of a ${kind} source with all of its keys reaches every target`,
    run: async (scene, { cas: [, , , four, five] }) => {
      const name = freshName('source');
      await put(scene, kind, name, { one: four });
      await scene.addSource({ [kind]: { name, includeAllKeys: true } });
      await scene.synced(joined(...scene.base, four));
      await put(scene, kind, name, { one: four, two: five });
      await scene.synced(joined(...scene.base, four, five));
    },
  },
  {
    name: `a key that leaves a ${kind} source with all of its keys leaves every target`,
    run: async (scene, { cas: [, , , four, five] }) => {
      const name = freshName('source');
      await put(scene, kind, name, { one: four, two: five });
      await scene.addSource({ [kind]: { name, includeAllKeys: true } });
      await scene.synced(joined(...scene.base, four, five));
      await put(scene, kind, name, { one: four });
      await scene.synced(joined(...scene.base, four));
    },
  },
  {
    name: `a changed key of a ${kind} source with all of its keys reaches every target`,
    run: async (scene, { cas: [, , , four, five] }) => {
      const name = freshName('source');
      await put(scene, kind, name, { one: four });
      await scene.addSource({ [kind]: { name, includeAllKeys: true } });
      await scene.synced(joined(...scene.base, four));
      await put(scene, kind, name, { one: five });
      await scene.synced(joined(...scene.base, five));
    },
  },
];

/** After the change, a pass over the Bundle writes a target that is right no second time. */
const stable = (name: string, change: (scene: Scene) => Promise<void>): Case => ({
  name: `a target is written once: ${name}`,
  run: async (scene) => {
    await change(scene);
    const before = (await scene.target())?.metadata.resourceVersion;
    await scene.afterAnotherPass();
    expect((await scene.target())?.metadata.resourceVersion).toBe(before);
  },
});

const withMetadata =
  (part: 'labels' | 'annotations') =>
  async (scene: Scene): Promise<void> => {
    await scene.change(({ target }) => {
      target.configMap = { key: TARGET_KEY, metadata: { [part]: { testKey: 'testValue' } } };
    });
    await scene.everywhere(part, ({ metadata }) => metadata[part]?.testKey === 'testValue');
  };

const withFormat =
  (format: 'jks' | 'pkcs12', key: string) =>
  async (scene: Scene): Promise<void> => {
    await scene.change(({ target }) => {
      target.additionalFormats = { [format]: { key } };
    });
    await scene.everywhere(format, ({ binaryData }) => binaryData?.[key] !== undefined);
  };

const bytesIn = async (scene: Scene, key: string): Promise<Buffer> =>
  Buffer.from((await scene.target())?.binaryData?.[key] ?? '', 'base64');

export const CASES: readonly Case[] = [
  ...ofKind('configMap'),
  ...ofKind('secret'),
  {
    name: 'an inLine source that is added reaches every target',
    run: async (scene, { cas: [, , , four] }) => {
      await scene.addSource({ inLine: four });
      await scene.synced(joined(...scene.base, four));
    },
  },
  {
    name: 'the default CAs reach every target, and the status names their version',
    run: async (scene, { cas: [, , , , five] }) => {
      await scene.addSource({ useDefaultCAs: true });
      await scene.synced(joined(...scene.base, five));
      expect((await scene.bundle()).status?.defaultCAVersion).toMatch(/./);
    },
  },
  ...([0, 1, 2] as const).map(
    (gone): Case => ({
      name: `a ${['ConfigMap', 'Secret', 'inLine'][gone]} source that is removed leaves every target`,
      run: async (scene) => {
        await scene.change(({ sources }) => void sources.splice(gone, 1));
        await scene.synced(joined(...scene.base.filter((_, index) => index !== gone)));
      },
    }),
  ),
  {
    name: 'a changed ConfigMap source reaches every target',
    run: async (scene, { cas: [, two, three, four] }) => {
      await scene.putConfigMap(scene.configMap, { 'configMap-key': four });
      await scene.synced(joined(two, three, four));
    },
  },
  {
    name: 'a changed Secret source reaches every target',
    run: async (scene, { cas: [one, , three, four] }) => {
      await scene.putSecret(scene.secret, { 'secret-key': four });
      await scene.synced(joined(one, three, four));
    },
  },
  {
    name: 'a changed inLine source reaches every target',
    run: async (scene, { cas: [one, two, , four] }) => {
      await scene.change(({ sources }) => void sources.splice(2, 1, { inLine: four }));
      await scene.synced(joined(one, two, four));
    },
  },
  {
    name: 'another key as target takes the place of the former one',
    run: async (scene) => {
      await scene.change(({ target }) => {
        target.configMap = { key: 'changed-target-key' };
      });
      await scene.everywhere('the new key alone', ({ data }) =>
        Object.keys(data ?? {}).every((key) => key === 'changed-target-key'),
      );
      await scene.synced(joined(...scene.base), 'changed-target-key');
    },
  },
  {
    name: 'a JKS file is written beside the PEM, under the usual password',
    run: async (scene) => {
      await withFormat('jks', 'myfile.jks')(scene);
      await scene.synced(joined(...scene.base));
      checkStore('jks', await bytesIn(scene, 'myfile.jks'), 'changeit', 3);
    },
  },
  {
    name: 'a PKCS#12 file is written anew when its profile alone changes',
    run: async (scene) => {
      const key = 'myfile.p12';
      const pkcs12 = { key, password: 'pkcs12-password' };
      await scene.change(({ target }) => {
        target.additionalFormats = { pkcs12: { ...pkcs12, profile: 'LegacyRC2' } };
      });
      await scene.everywhere('the first', ({ binaryData }) => binaryData?.[key] !== undefined);
      const first = await bytesIn(scene, key);
      await scene.change(({ target }) => {
        target.additionalFormats = { pkcs12: { ...pkcs12, profile: 'Modern2023' } };
      });
      await scene.until('another file', async () => !(await bytesIn(scene, key)).equals(first));
      checkStore('pkcs12', await bytesIn(scene, key), 'pkcs12-password', 3);
    },
  },
  {
    name: 'the owner reference of a target comes back',
    run: async (scene) => {
      await scene.edit('kube-system', (target) => {
        const { ownerReferences: _, ...metadata } = target.metadata;
        target.metadata = metadata;
      });
      const { metadata } = await scene.bundle();
      const owner = {
        apiVersion: 'trust.cert-manager.io/v1alpha1',
        kind: 'Bundle',
        name: scene.name,
        uid: metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      };
      await scene.until(
        'the owner',
        async () => ((await scene.target())?.metadata.ownerReferences ?? []).length === 1,
      );
      expect((await scene.target())?.metadata.ownerReferences).toEqual([owner]);
    },
  },
  {
    name: 'the data of a target comes back after it was changed or removed',
    run: async (scene) => {
      const right = { [TARGET_KEY]: joined(...scene.base) };
      for (const data of [{ [TARGET_KEY]: 'CHANGED DATA' }, {}]) {
        await scene.edit('kube-system', (target) => {
          target.data = data;
        });
        await scene.until(
          'the data',
          async () => (await scene.target())?.data?.[TARGET_KEY] === right[TARGET_KEY],
        );
        expect((await scene.target())?.data).toEqual(right);
      }
    },
  },
  {
    name: 'only namespaces that match the selector have a target, at any time',
    run: async (scene, { kube }) => {
      const name = freshName('ns');
      await kube.create(namespaces, namespaceObject(name));
      await scene.synced(joined(...scene.base));
      await scene.change(({ target }) => {
        target.namespaceSelector = { matchLabels: { foo: scene.name } };
      });
      await scene.until('the target goes', async () => (await scene.target(name)) === undefined);
      await kube.patch(namespaces, { name }, { merge: { metadata: { labels: { foo: scene.name } } } });
      await scene.until(
        'the target is back',
        async () => (await scene.target(name))?.data?.[TARGET_KEY] !== undefined,
      );
      expect((await scene.target(name))?.data).toEqual({ [TARGET_KEY]: joined(...scene.base) });
      expect(await kube.get(configMaps, { namespace: 'kube-system', name: scene.name })).toBeUndefined();
    },
  },
  stable('as it is', async () => {}),
  stable('with labels', withMetadata('labels')),
  stable('with annotations', withMetadata('annotations')),
  stable('with a JKS file', withFormat('jks', 'target.jks')),
  stable('with a PKCS#12 file', withFormat('pkcs12', 'target.p12')),
  { name: 'labels that are added to the Bundle reach every target', run: withMetadata('labels') },
  { name: 'annotations that are added to the Bundle reach every target', run: withMetadata('annotations') },
];
