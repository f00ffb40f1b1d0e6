import { ADOPT, MANAGED_LABEL, TRUST_MANAGER } from '@handover/core';
import { configMaps, namespaces } from '@handover/kube';
import { namespaceObject } from '@handover/test-api-server';
import { expect } from 'vitest';
import { failsWith, type OwnCase, type OwnWorld, put } from './own-world.ts';
import { freshName, joined, Scene, TARGET_KEY } from './world.ts';

const ONE_TARGET = { configMap: { key: TARGET_KEY } };

/** A ConfigMap of shop under the name of a Bundle that comes when the operator has seen it. */
const beforeBundle = async (
  scene: Scene,
  world: OwnWorld,
  data: Readonly<Record<string, string>>,
  labels: (name: string) => Readonly<Record<string, string>>,
): Promise<Scene> => {
  const more = new Scene(world);
  await put(world, 'shop', more.name, data, labels(more.name));
  // The watch of targets told of it before it told of this pass.
  await scene.afterAnotherPass();
  await more.create({ sources: [{ inLine: world.cas[0] }], target: ONE_TARGET });
  return more;
};

/** What has another owner, by its marks: written only with the owner's word, and left as it was. */
export const FOREIGN_CASES: readonly OwnCase[] = [
  {
    name: 'a ConfigMap that was there before is left alone until its owner gives it over, and keeps its other keys when the Bundle comes and goes',
    run: async (_scene, world) => {
      const name = freshName('bundle');
      const labels = { with: name };
      await world.kube.create(namespaces, namespaceObject(name, labels));
      await put(world, name, name, { mine: 'stays', 'ca.crt': 'is replaced' });
      const more = new Scene(world, name);
      await more.create({
        sources: [{ inLine: world.cas[0] }],
        target: { configMap: { key: 'ca.crt' }, namespaceSelector: { matchLabels: labels } },
      });
      await failsWith(more, 'SyncConfigMapTargetFailed', `${name}/${name}`, 'handover.dev/adopt=true');
      expect((await more.target(name))?.data?.['ca.crt']).toBe('is replaced');
      const given = { metadata: { labels: { 'handover.dev/adopt': 'true' } } };
      await world.kube.patch(
        configMaps,
        { namespace: name, name },
        { merge: given, fieldManager: 'a-person' },
      );
      await more.until(
        'the CA',
        async () => (await more.target(name))?.data?.['ca.crt'] === joined(world.cas[0]),
      );
      expect((await more.target(name))?.data?.mine).toBe('stays');
      await more.change(({ target }) => {
        target.namespaceSelector = { matchLabels: { none: 'of them' } };
      });
      await more.until('the CA goes', async () => (await more.target(name))?.data?.['ca.crt'] === undefined);
      expect((await more.target(name))?.data).toEqual({ mine: 'stays' });
      await more.end();
    },
  },
  {
    name: 'an object that Handover keeps for itself is left alone, and named',
    run: async (_scene, world) => {
      const name = freshName('bundle');
      await put(
        world,
        'shop',
        name,
        { 'ca.crt': 'ours' },
        {
          'handover.dev/managed': 'true',
          'handover.dev/adopt': 'true',
        },
      );
      const more = new Scene(world, name);
      await more.create({ sources: [{ inLine: world.cas[0] }], target: { configMap: { key: 'ca.crt' } } });
      await failsWith(more, 'SyncConfigMapTargetFailed', `shop/${name}`);
      expect((await more.target('shop'))?.data).toEqual({ 'ca.crt': 'ours' });
      expect((await more.target('kube-system'))?.data).toEqual({ 'ca.crt': joined(world.cas[0]) });
      await more.end();
    },
  },
  {
    name: 'a ConfigMap with the label of another Bundle is left alone until its owner gives it over',
    run: async (scene, world) => {
      const data = { [TARGET_KEY]: 'mine', other: 'mine too' };
      const more = await beforeBundle(scene, world, data, () => ({ [TRUST_MANAGER.bundle]: 'another' }));
      await failsWith(more, 'SyncConfigMapTargetFailed', `shop/${more.name}`, `${ADOPT}=true`);
      expect((await more.target('shop'))?.data).toEqual(data);
      const labels = { [ADOPT]: 'true' };
      const place = { namespace: 'shop', name: more.name };
      await world.kube.patch(configMaps, place, {
        merge: { metadata: { labels } },
        fieldManager: 'a-person',
      });
      await more.synced(joined(world.cas[0]));
      expect((await more.target('shop'))?.data?.other).toBe('mine too');
      await more.end();
    },
  },
  {
    name: 'a ConfigMap that Handover keeps for a TrustBundle is left alone, though it has the label of the Bundle',
    run: async (scene, world) => {
      const data = { [TARGET_KEY]: 'kept for a TrustBundle' };
      const more = await beforeBundle(scene, world, data, (name) => ({
        [MANAGED_LABEL]: 'true',
        [ADOPT]: 'true',
        [TRUST_MANAGER.bundle]: name,
      }));
      await failsWith(more, 'SyncConfigMapTargetFailed', `shop/${more.name}`, 'of Handover');
      expect((await more.target('shop'))?.data).toEqual(data);
      await more.end();
    },
  },
  {
    name: 'a CA that left its source leaves the Bundle, also where a selector matches the target of the Bundle itself',
    run: async (_scene, world) => {
      const [one, two] = world.cas;
      const more = new Scene(world);
      const labels = { team: more.name };
      await more.putConfigMap(more.configMap, { 'ca.crt': `${one}${two}` });
      await more.create({
        sources: [
          { configMap: { selector: { matchLabels: labels }, includeAllKeys: true } },
          { configMap: { name: more.configMap, key: 'ca.crt' } },
        ],
        target: { configMap: { key: TARGET_KEY, metadata: { labels } } },
      });
      await more.synced(joined(one, two));
      await more.afterAnotherPass();
      await more.putConfigMap(more.configMap, { 'ca.crt': one });
      await more.synced(joined(one));
      await more.end();
    },
  },
  {
    name: 'a target of another Bundle is a source by its name, and by no selector',
    run: async (scene, world) => {
      const [, , , four] = world.cas;
      const labels = { team: scene.name };
      await scene.change(({ target }) => {
        target.configMap = { key: TARGET_KEY, metadata: { labels } };
      });
      await scene.everywhere('the label', ({ metadata }) => metadata.labels?.team === scene.name);
      const more = new Scene(world);
      await more.create({
        sources: [{ inLine: four }, { configMap: { selector: { matchLabels: labels }, key: TARGET_KEY } }],
        target: ONE_TARGET,
      });
      await more.synced(joined(four));
      await more.addSource({ configMap: { name: scene.name, key: TARGET_KEY } });
      await more.synced(joined(...scene.base, four));
      await more.end();
    },
  },
  {
    name: 'an object that its owner gave over has no Bundle as owner, and keeps its other data when the Bundle is deleted',
    run: async (_scene, world) => {
      const { kube, cas } = world;
      const more = new Scene(world);
      const place = { namespace: 'shop', name: more.name };
      await put(world, 'shop', more.name, { config: 'of the owner' }, { [ADOPT]: 'true' });
      await more.create({ sources: [{ inLine: cas[0] }], target: ONE_TARGET });
      await more.synced(joined(cas[0]));
      await more.afterAnotherPass();
      const owners = async () => (await more.target('shop'))?.metadata.ownerReferences ?? [];
      expect(await owners()).toEqual([]);
      // Other data is reason enough: the label may go.
      const label = async (adopt: string | null): Promise<void> => {
        const merge = { metadata: { labels: { [ADOPT]: adopt } } };
        await kube.patch(configMaps, place, { merge, fieldManager: 'a-person' });
      };
      await label(null);
      await more.afterAnotherPass();
      await more.addSource({ inLine: cas[1] });
      await more.synced(joined(cas[0], cas[1]));
      expect(await owners()).toEqual([]);
      await label('true');
      await more.end();
      await more.until(
        'its keys leave',
        async () => (await more.target('shop'))?.data?.[TARGET_KEY] === undefined,
      );
      expect((await more.target('shop'))?.data).toEqual({ config: 'of the owner' });
    },
  },
];
