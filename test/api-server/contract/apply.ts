import { configMaps, validatingWebhookConfigurations } from '@handover/kube';
import { beforeEach, describe, expect, test } from 'vitest';
import { codeOf } from '../src/eventually.ts';
import type { Scene } from './scene.ts';

/** Server-side apply: owners, conflicts, and removal of fields that are no longer applied. */
export function serverSideApply(scene: () => Scene): void {
  let { kube, namespace, read } = {} as Scene;
  beforeEach(() => {
    ({ kube, namespace, read } = scene());
  });

  describe('server-side apply', () => {
    const applied = (data: Record<string, string>, more: object = {}) => ({
      metadata: { name: 'a', ...more },
      data,
    });
    const applyAs = (fieldManager: string, body: object, force = false) =>
      kube.patch(configMaps, { namespace, name: 'a' }, { apply: body, fieldManager, force });

    test('an apply creates a missing object, and removes fields that are no longer applied', async () => {
      await applyAs('one', applied({ x: '1', y: '1' }));
      const second = await applyAs('one', applied({ x: '2' }));
      expect(second.data).toEqual({ x: '2' });
      expect(second.metadata.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual([
        ['one', 'Apply'],
      ]);
    });

    test('an apply leaves the fields of other managers alone', async () => {
      await applyAs('one', applied({ x: '1' }));
      await applyAs('two', applied({ y: '2' }));
      expect((await applyAs('one', applied({ x: '3' }))).data).toEqual({ x: '3', y: '2' });
      expect((await applyAs('two', applied({}))).data).toEqual({ x: '3' });
    });

    test('an applied field of another manager is a conflict, unless forced', async () => {
      await applyAs('one', applied({ x: '1' }));
      expect(await codeOf(applyAs('two', applied({ x: '2' })))).toBe('KUBE_CONFLICT');
      expect((await applyAs('two', applied({ x: '2' }), true)).data).toEqual({ x: '2' });
      expect(await codeOf(applyAs('one', applied({ x: '1' })))).toBe('KUBE_CONFLICT');
    });

    test('a value that two managers apply stays until both drop it', async () => {
      await applyAs('one', applied({ x: '1' }));
      await applyAs('two', applied({ x: '1' }));
      expect((await applyAs('one', applied({}))).data).toEqual({ x: '1' });
      expect((await applyAs('two', applied({}))).data ?? {}).toEqual({});
    });

    test('a map that was applied empty takes entries', async () => {
      await applyAs('one', applied({ x: '1' }, { labels: {} }));
      const { metadata } = await applyAs('one', applied({ x: '1' }, { labels: { a: 'b' } }));
      expect(metadata.labels).toEqual({ a: 'b' });
    });

    test('an apply with an old version in the body is a conflict, with or without force', async () => {
      const { metadata } = await applyAs('one', applied({ x: '1' }));
      const { resourceVersion } = metadata;
      await applyAs('one', applied({ x: '2' }, { resourceVersion }));
      for (const force of [false, true]) {
        expect(await codeOf(applyAs('one', applied({ x: '3' }, { resourceVersion }), force))).toBe(
          'KUBE_CONFLICT',
        );
      }
      expect((await read('a'))?.data).toEqual({ x: '2' });
    });

    test('an apply with a version does not create a deleted object again', async () => {
      const { metadata } = await applyAs('one', applied({ x: '1' }));
      await kube.delete(configMaps, { namespace, name: 'a' });
      const { resourceVersion, uid } = metadata;
      expect(await codeOf(applyAs('one', applied({ x: '2' }, { resourceVersion, uid })))).toBe(
        'KUBE_CONFLICT',
      );
      expect(await read('a')).toBeUndefined();
    });

    test('applying the same again makes no new version', async () => {
      const first = await applyAs('one', applied({ x: '1' }));
      const again = await applyAs('one', applied({ x: '1' }));
      expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });

    test('an apply merges webhooks by name', async () => {
      const name = `${namespace}.hooks`;
      const hook = (hookName: string) => ({
        name: hookName,
        clientConfig: { url: 'https://127.0.0.1:1/' },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        rules: [
          { apiGroups: ['none.test'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['none'] },
        ],
      });
      await kube.create(validatingWebhookConfigurations, {
        metadata: { name },
        webhooks: [hook('a.test.local'), hook('b.test.local')],
      });
      const apply = {
        metadata: { name },
        webhooks: [{ ...hook('b.test.local'), failurePolicy: 'Ignore' }],
      };
      const patched = await kube.patch(
        validatingWebhookConfigurations,
        { name },
        {
          apply,
          fieldManager: 'one',
          force: true,
        },
      );
      const hooks = patched.webhooks as { name: string; failurePolicy?: string }[];
      expect(hooks.map((one) => one.name)).toEqual(['a.test.local', 'b.test.local']);
      expect(hooks[1]?.failurePolicy).toBe('Ignore');
      await kube.delete(validatingWebhookConfigurations, { name });
    });
  });
}
