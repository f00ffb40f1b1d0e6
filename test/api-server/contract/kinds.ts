import {
  configMaps,
  connect,
  customResourceDefinitions,
  deployments,
  kindOf,
  pods,
  secrets,
  serviceAccounts,
} from '@handover/kube';
import { beforeEach, describe, expect, test } from 'vitest';
import { codeOf, eventually } from '../src/eventually.ts';
import type { Scene } from './scene.ts';

/** Lists of a kind, subresources and discovery. */
export function kinds(scene: () => Scene): void {
  let { kube, namespace, server, make, signal } = {} as Scene;
  beforeEach(() => {
    ({ kube, namespace, server, make, signal } = scene());
  });

  describe('lists', () => {
    test('pages hold the same objects as one answer, all of one moment', async () => {
      for (let i = 0; i < 7; i++) await make(`a${i}`, {}, { part: i < 3 ? 'low' : 'high' });
      const names: (string | undefined)[] = [];
      let version: string | undefined;
      let pages = 0;
      for await (const page of kube.pages(configMaps, { namespace, limit: 3 })) {
        version ??= page.resourceVersion;
        expect(page.resourceVersion).toBe(version);
        names.push(...page.items.map(({ metadata }) => metadata.name));
        if (pages++ === 0) await make('b-later');
      }
      expect(names.filter((one) => one?.startsWith('a'))).toHaveLength(7);
      expect(names).not.toContain('b-later');
      const whole = await kube.list(configMaps, { namespace, limit: 2 });
      const found = whole.items.map(({ metadata }) => metadata.name);
      expect(found).toEqual([...found].sort());
      expect(found).toContain('b-later');
    });

    test('a list selects by label and by field', async () => {
      await make('a', {}, { part: 'x' });
      await make('b', {}, { part: 'y' });
      await make('c', {}, {});
      const by = async (labelSelector: string) =>
        (await kube.list(configMaps, { namespace, labelSelector })).items.map(
          ({ metadata }) => metadata.name,
        );
      expect(await by('part=x')).toEqual(['a']);
      expect(await by('part in (x,y)')).toEqual(['a', 'b']);
      expect(await by('part,part!=x')).toEqual(['b']);
      expect(await by('!part')).toContain('c');
      const named = await kube.list(configMaps, { namespace, fieldSelector: 'metadata.name=b' });
      expect(named.items.map(({ metadata }) => metadata.name)).toEqual(['b']);
      expect(await codeOf(kube.list(configMaps, { namespace, fieldSelector: 'data.x=1' }))).toBe(
        'KUBE_BAD_REQUEST',
      );
    });

    test('a list with metadataOnly sends no data', async () => {
      await kube.create(secrets, {
        metadata: { name: 's', namespace, labels: { a: 'b' } },
        stringData: { k: 'v' },
      });
      const { items } = await kube.list(secrets, { namespace, metadataOnly: true });
      const mine = items.find(({ metadata }) => metadata.name === 's');
      expect(mine?.metadata.labels).toEqual({ a: 'b' });
      expect(mine?.data).toBeUndefined();
      const one = await kube.get(secrets, { namespace, name: 's', metadataOnly: true });
      expect(one?.data).toBeUndefined();
      expect(one?.metadata.name).toBe('s');
    });
  });

  describe('subresources and discovery', () => {
    const crd = () => {
      const plural = `things${namespace.slice(-8)}`;
      return {
        plural,
        kind: kindOf('handover-test.dev/v1', plural, `Thing${namespace.slice(-8)}`),
        object: {
          metadata: { name: `${plural}.handover-test.dev` },
          spec: {
            group: 'handover-test.dev',
            scope: 'Namespaced',
            names: { plural, singular: plural.slice(0, -1), kind: `Thing${namespace.slice(-8)}` },
            versions: [
              {
                name: 'v1',
                served: true,
                storage: true,
                subresources: { status: {} },
                schema: {
                  openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
            ],
          },
        },
      };
    };

    test('a custom resource has a status of its own, and counts its generations', async () => {
      const { kind, object, plural } = crd();
      await kube.create(customResourceDefinitions, object);
      const thing = { metadata: { name: 'a', namespace }, spec: { x: 1 }, status: { y: 1 } };
      await eventually(async () => {
        const list = await codeOf(kube.list(kind, { namespace }));
        return list === 'no error';
      });
      const made = await kube.create(kind, thing);
      expect(made.status).toBeUndefined();
      expect(made.metadata.generation).toBe(1);
      const which = { namespace, name: 'a' };
      const both = {
        merge: { metadata: { annotations: { a: 'b' } }, spec: { x: 2 }, status: { y: 2 } },
      };
      const byStatus = await kube.patch(kind, { ...which, subresource: 'status' }, both);
      expect([byStatus.spec, byStatus.status]).toEqual([{ x: 1 }, { y: 2 }]);
      expect(byStatus.metadata.generation).toBe(1);
      expect(byStatus.metadata.annotations).toBeUndefined();
      const bySpec = await kube.patch(kind, which, { merge: { spec: { x: 3 }, status: { y: 3 } } });
      expect([bySpec.spec, bySpec.status]).toEqual([{ x: 3 }, { y: 2 }]);
      expect(bySpec.metadata.generation).toBe(2);
      await eventually(() =>
        connect(server.config, { signal: signal }).serves('handover-test.dev', 'v1', plural),
      );
      await kube.delete(customResourceDefinitions, { name: object.metadata.name });
    });

    test('the server lists the served kinds', async () => {
      expect(await kube.serves('', 'v1', 'secrets')).toBe(true);
      expect(await kube.serves('', 'v1', 'nothings')).toBe(false);
      expect(await kube.serves('apps', 'v1', 'deployments')).toBe(true);
      expect(await kube.serves('missing.test', 'v1', 'things')).toBe(false);
    });

    test('a Deployment counts its generations by its spec only', async () => {
      const template = {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'c', image: 'none' }] },
      };
      const made = await kube.create(deployments, {
        metadata: { name: 'd', namespace },
        spec: { replicas: 0, selector: { matchLabels: { app: 'a' } }, template },
      });
      expect(made.metadata.generation).toBe(1);
      const which = { namespace, name: 'd' };
      const labelled = await kube.patch(deployments, which, {
        merge: { metadata: { labels: { a: 'b' } } },
      });
      expect(labelled.metadata.generation).toBe(1);
      const stamp = {
        spec: { template: { metadata: { annotations: { 'handover.dev/trust-hash': 'x' } } } },
      };
      expect((await kube.patch(deployments, which, { merge: stamp })).metadata.generation).toBe(2);
    });

    test('a pod’s status path takes annotations, and leaves the spec alone', async () => {
      await kube.create(serviceAccounts, { metadata: { name: 'default', namespace } });
      const containers = [{ name: 'c', image: 'none' }];
      await kube.create(pods, { metadata: { name: 'p', namespace }, spec: { containers } });
      const merge = {
        metadata: { annotations: { 'handover.dev/nudge': 'x' } },
        spec: { containers: [{ name: 'c', image: 'other' }] },
      };
      const which = { namespace, name: 'p' };
      const patched = await kube.patch(pods, { ...which, subresource: 'status' }, { merge });
      expect(patched.metadata.annotations).toMatchObject({ 'handover.dev/nudge': 'x' });
      expect((patched.spec as { containers: { image: string }[] }).containers[0]?.image).toBe('none');
      expect((await kube.get(pods, which))?.metadata.annotations).toMatchObject({
        'handover.dev/nudge': 'x',
      });
    });

    test('the server answers plain paths', async () => {
      expect((await kube.raw('GET', '/readyz')).body).toBe('ok');
      expect(JSON.parse((await kube.raw('GET', '/version')).body)).toHaveProperty('gitVersion');
      expect(await codeOf(kube.raw('GET', '/apis/missing.test/v1'))).toBe('KUBE_NOT_FOUND');
    });
  });
}
