import { randomUUID } from 'node:crypto';
import { type ConfigMap, configMaps, leases, secrets } from '@handover/kube';
import { beforeEach, describe, expect, test } from 'vitest';
import { codeOf } from '../src/eventually.ts';
import { MANAGER, type Scene } from './scene.ts';

/** Creating, updating, patching and deleting one object. */
export function objects(scene: () => Scene): void {
  let { kube, namespace, configMap, make, read } = {} as Scene;
  beforeEach(() => {
    ({ kube, namespace, configMap, make, read } = scene());
  });

  describe('objects', () => {
    test('a created object can be read, and has an identity', async () => {
      const made = await make('a', { x: '1' });
      expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
      expect(made.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(await read('a')).toEqual(made);
    });

    test('a missing object is undefined; creating one in a missing namespace is not found', async () => {
      expect(await read('missing')).toBeUndefined();
      const lost = kube.create(configMaps, { metadata: { name: 'a', namespace: `${namespace}-no` } });
      expect(await codeOf(lost)).toBe('KUBE_NOT_FOUND');
    });

    test('a second object of the same name already exists', async () => {
      await make('a');
      expect(await codeOf(make('a'))).toBe('KUBE_ALREADY_EXISTS');
    });

    test('a bad name is invalid; a version on a new object is an internal error of the server', async () => {
      expect(await codeOf(make('Not A Name'))).toBe('KUBE_INVALID');
      const versioned = { ...configMap('b'), metadata: { name: 'b', namespace, resourceVersion: '1' } };
      expect(await codeOf(kube.create(configMaps, versioned))).toBe('KUBE_INTERNAL');
    });

    test('a name can be generated', async () => {
      const made = await kube.create(configMaps, { metadata: { generateName: 'gen-', namespace } });
      expect(made.metadata.name).toMatch(/^gen-.{5}$/);
    });

    test('a dry run changes nothing', async () => {
      await kube.create<ConfigMap>(configMaps, configMap('a'), { dryRun: true });
      expect(await read('a')).toBeUndefined();
    });

    test('stringData of a Secret becomes data', async () => {
      const metadata = { name: 's', namespace };
      const made = await kube.create(secrets, { metadata, stringData: { k: 'v' } });
      expect(made.data).toEqual({ k: 'dg==' });
      expect(made.stringData).toBeUndefined();
      expect(made.type).toBe('Opaque');
    });

    test('the server sends its time with each answer', async () => {
      await make('a');
      expect(Math.abs((kube.serverClock.now() ?? 0) - kube.clock.now())).toBeLessThan(60_000);
    });
  });

  describe('updates', () => {
    test('an update of the version that was read succeeds once', async () => {
      const made = await make('a', { x: '1' });
      const updated = await kube.update(configMaps, { ...made, data: { x: '2' } });
      expect(updated.data).toEqual({ x: '2' });
      expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion));
      expect(await codeOf(kube.update(configMaps, { ...made, data: { x: '3' } }))).toBe('KUBE_CONFLICT');
    });

    test('an update without a version overwrites a ConfigMap, but is invalid for a Lease', async () => {
      await make('a', { x: '1' });
      await kube.update<ConfigMap>(configMaps, configMap('a', { x: '2' }));
      expect((await read('a'))?.data).toEqual({ x: '2' });
      const lease = {
        metadata: { name: 'l', namespace },
        spec: { holderIdentity: 'a', leaseDurationSeconds: 1 },
      };
      await kube.create(leases, lease);
      expect(await codeOf(kube.update(leases, lease))).toBe('KUBE_INVALID');
    });

    test('an update of a missing object is not found', async () => {
      expect(await codeOf(kube.update<ConfigMap>(configMaps, configMap('a')))).toBe('KUBE_NOT_FOUND');
    });

    test('an update for another uid is a conflict', async () => {
      const { metadata } = await make('a');
      const other = { ...metadata, uid: randomUUID(), resourceVersion: metadata.resourceVersion ?? '' };
      expect(await codeOf(kube.update(configMaps, { metadata: other }))).toBe('KUBE_CONFLICT');
    });

    test('an update that changes nothing makes no new version', async () => {
      const made = await make('a', { x: '1' });
      const again = await kube.update(configMaps, made, { fieldManager: MANAGER });
      expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    });
  });

  describe('patches', () => {
    test('a merge patch changes, adds and removes', async () => {
      await make('a', { x: '1', y: '1' });
      const patched = await kube.patch(
        configMaps,
        { namespace, name: 'a' },
        { merge: { data: { x: '2', y: null, z: '3' } } },
      );
      expect(patched.data).toEqual({ x: '2', z: '3' });
    });

    test('a merge patch with an old version is a conflict', async () => {
      const { metadata } = await make('a', { x: '1' });
      const merge = { metadata: { resourceVersion: metadata.resourceVersion }, data: { x: '2' } };
      const which = { namespace, name: 'a' };
      await kube.patch(configMaps, which, { merge });
      expect(await codeOf(kube.patch(configMaps, which, { merge: { ...merge, data: { x: '3' } } }))).toBe(
        'KUBE_CONFLICT',
      );
      expect((await read('a'))?.data).toEqual({ x: '2' });
    });

    test('a JSON patch is applied as a whole or not at all', async () => {
      await make('a', { x: '1' });
      const which = { namespace, name: 'a' };
      const good = [
        { op: 'test', path: '/data/x', value: '1' },
        { op: 'replace', path: '/data/x', value: '2' },
      ] as const;
      expect((await kube.patch(configMaps, which, { json: good })).data).toEqual({ x: '2' });
      expect(await codeOf(kube.patch(configMaps, which, { json: good }))).toBe('KUBE_INVALID');
      expect((await read('a'))?.data).toEqual({ x: '2' });
    });

    test('a patch of a missing object is not found', async () => {
      const lost = kube.patch(configMaps, { namespace, name: 'a' }, { merge: { data: {} } });
      expect(await codeOf(lost)).toBe('KUBE_NOT_FOUND');
    });
  });

  describe('deletion', () => {
    test('a deleted object is gone; a second delete finds nothing', async () => {
      await make('a');
      expect(await kube.delete(configMaps, { namespace, name: 'a' })).toBe(true);
      expect(await read('a')).toBeUndefined();
      expect(await kube.delete(configMaps, { namespace, name: 'a' })).toBe(false);
    });

    test('a deletion takes only the object of this uid, and only at this version', async () => {
      const { metadata } = await make('a');
      const which = { namespace, name: 'a' };
      expect(await codeOf(kube.delete(configMaps, which, { uid: randomUUID() }))).toBe('KUBE_CONFLICT');
      await kube.patch(configMaps, which, { merge: { data: { x: '1' } } });
      const { resourceVersion, uid } = metadata;
      expect(await codeOf(kube.delete(configMaps, which, { resourceVersion }))).toBe('KUBE_CONFLICT');
      expect(await kube.delete(configMaps, which, { uid })).toBe(true);
    });

    test('a finalizer keeps a deleted object until the finalizer is removed', async () => {
      await kube.create(configMaps, {
        metadata: { name: 'a', namespace, finalizers: ['handover.dev/test'] },
      });
      expect(await kube.delete(configMaps, { namespace, name: 'a' })).toBe(true);
      const held = await read('a');
      expect(held?.metadata.deletionTimestamp).toBeTypeOf('string');
      await kube.patch(configMaps, { namespace, name: 'a' }, { merge: { metadata: { finalizers: null } } });
      expect(await read('a')).toBeUndefined();
    });
  });
}
