import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  answeredAt,
  type ConfigMap,
  configMaps,
  connect,
  customResourceDefinitions,
  deployments,
  Informer,
  type Kube,
  type KubeConfig,
  kindOf,
  leases,
  namespaces,
  pods,
  secrets,
  serviceAccounts,
  validatingWebhookConfigurations,
  type WatchEvent,
} from '../src/index.ts';
import { codeOf, eventually } from './eventually.ts';

export interface ContractServer {
  readonly config: KubeConfig;
  /** Makes the server forget what happened so far, and not the objects. */
  forget(): Promise<void>;
  stop(): Promise<void>;
}

const MANAGER = 'contract';

/** What we rely on of an API server: the same for the small one in this process and for the real one. */
export function contract(name: string, start: () => Promise<ContractServer>): void {
  describe(`the API contract on ${name}`, () => {
    const stop = new AbortController();
    let server: ContractServer;
    let kube: Kube;
    let namespace: string;

    beforeAll(async () => {
      server = await start();
      kube = connect(server.config, { signal: stop.signal, rate: false });
    });
    afterAll(async () => {
      stop.abort();
      await server?.stop();
    });
    beforeEach(async () => {
      namespace = `contract-${randomUUID().slice(0, 8)}`;
      await kube.create(namespaces, { metadata: { name: namespace } });
    });

    const configMap = (
      name: string,
      data: Record<string, string> = {},
      labels: Record<string, string> = {},
    ) => ({
      metadata: { name, namespace, labels },
      data,
    });
    const make = (name: string, data?: Record<string, string>, labels?: Record<string, string>) =>
      kube.create<ConfigMap>(configMaps, configMap(name, data, labels), { fieldManager: MANAGER });
    const read = (name: string) => kube.get(configMaps, { namespace, name });

    describe('objects', () => {
      test('what is created can be read, and knows who it is', async () => {
        const made = await make('a', { x: '1' });
        expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
        expect(made.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(await read('a')).toEqual(made);
      });

      test('what is not there is undefined; creating in a namespace that is not there is not found', async () => {
        expect(await read('nobody')).toBeUndefined();
        const lost = kube.create(configMaps, { metadata: { name: 'a', namespace: `${namespace}-no` } });
        expect(await codeOf(lost)).toBe('KUBE_NOT_FOUND');
      });

      test('a second one of the same name already exists', async () => {
        await make('a');
        expect(await codeOf(make('a'))).toBe('KUBE_ALREADY_EXISTS');
      });

      test('a bad name is invalid; a version on a new object is the server’s own fault', async () => {
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

      test('the server tells its time with each answer', async () => {
        const made = await make('a');
        const at = answeredAt(made);
        expect(at).toBeTypeOf('number');
        expect(kube.clock.now()).toBeGreaterThanOrEqual(at ?? Number.POSITIVE_INFINITY);
        const { date } = await kube.list(configMaps, { namespace });
        expect(date).toBeGreaterThanOrEqual(at ?? Number.POSITIVE_INFINITY);
      });
    });

    describe('updates', () => {
      test('an update of the version that was read succeeds once', async () => {
        const made = await make('a', { x: '1' });
        const updated = await kube.update(configMaps, { ...made, data: { x: '2' } });
        expect(updated.data).toEqual({ x: '2' });
        expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(
          Number(made.metadata.resourceVersion),
        );
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

      test('an update of what is not there is not found', async () => {
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

      test('a JSON patch is done whole or not at all', async () => {
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

      test('a patch of what is not there is not found', async () => {
        const lost = kube.patch(configMaps, { namespace, name: 'a' }, { merge: { data: {} } });
        expect(await codeOf(lost)).toBe('KUBE_NOT_FOUND');
      });
    });

    describe('server-side apply', () => {
      const applied = (data: Record<string, string>, more: object = {}) => ({
        metadata: { name: 'a', ...more },
        data,
      });
      const applyAs = (fieldManager: string, body: object, force = false) =>
        kube.patch(configMaps, { namespace, name: 'a' }, { apply: body, fieldManager, force });

      test('creates what is not there, and removes what is no longer applied', async () => {
        await applyAs('one', applied({ x: '1', y: '1' }));
        const second = await applyAs('one', applied({ x: '2' }));
        expect(second.data).toEqual({ x: '2' });
        expect(second.metadata.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual([
          ['one', 'Apply'],
        ]);
      });

      test('leaves alone what others own', async () => {
        await applyAs('one', applied({ x: '1' }));
        await applyAs('two', applied({ y: '2' }));
        expect((await applyAs('one', applied({ x: '3' }))).data).toEqual({ x: '3', y: '2' });
        expect((await applyAs('two', applied({}))).data).toEqual({ x: '3' });
      });

      test('a field of another manager is a conflict, unless forced', async () => {
        await applyAs('one', applied({ x: '1' }));
        expect(await codeOf(applyAs('two', applied({ x: '2' })))).toBe('KUBE_CONFLICT');
        expect((await applyAs('two', applied({ x: '2' }), true)).data).toEqual({ x: '2' });
        expect(await codeOf(applyAs('one', applied({ x: '1' })))).toBe('KUBE_CONFLICT');
      });

      test('the same value is owned by both, and stays until both let go', async () => {
        await applyAs('one', applied({ x: '1' }));
        await applyAs('two', applied({ x: '1' }));
        expect((await applyAs('one', applied({}))).data).toEqual({ x: '1' });
        expect((await applyAs('two', applied({}))).data ?? {}).toEqual({});
      });

      test('carries the version it was decided on: an old one is a conflict, force or not', async () => {
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

      test('with a version, does not bring back what was deleted', async () => {
        const { metadata } = await applyAs('one', applied({ x: '1' }));
        await kube.delete(configMaps, { namespace, name: 'a' });
        const { resourceVersion, uid } = metadata;
        expect(await codeOf(applyAs('one', applied({ x: '2' }, { resourceVersion, uid })))).toBe(
          'KUBE_CONFLICT',
        );
        expect(await read('a')).toBeUndefined();
      });

      test('the same again makes no new version', async () => {
        const first = await applyAs('one', applied({ x: '1' }));
        const again = await applyAs('one', applied({ x: '1' }));
        expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      });

      test('merges webhooks by name', async () => {
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

    describe('deletion', () => {
      test('what is deleted is gone; deleting it again says so', async () => {
        await make('a');
        expect(await kube.delete(configMaps, { namespace, name: 'a' })).toBe(true);
        expect(await read('a')).toBeUndefined();
        expect(await kube.delete(configMaps, { namespace, name: 'a' })).toBe(false);
      });

      test('only the very object, and only as it was', async () => {
        const { metadata } = await make('a');
        const which = { namespace, name: 'a' };
        expect(await codeOf(kube.delete(configMaps, which, { uid: randomUUID() }))).toBe('KUBE_CONFLICT');
        await kube.patch(configMaps, which, { merge: { data: { x: '1' } } });
        const { resourceVersion, uid } = metadata;
        expect(await codeOf(kube.delete(configMaps, which, { resourceVersion }))).toBe('KUBE_CONFLICT');
        expect(await kube.delete(configMaps, which, { uid })).toBe(true);
      });

      test('a finalizer holds it until it is taken away', async () => {
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

    describe('lists', () => {
      test('page by page is the same as at once, and of one moment', async () => {
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

      test('selects by label and by field', async () => {
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

      test('metadata only leaves the data at home', async () => {
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
          connect(server.config, { signal: stop.signal }).serves('handover-test.dev', 'v1', plural),
        );
        await kube.delete(customResourceDefinitions, { name: object.metadata.name });
      });

      test('says which kinds there are', async () => {
        expect(await kube.serves('', 'v1', 'secrets')).toBe(true);
        expect(await kube.serves('', 'v1', 'nothings')).toBe(false);
        expect(await kube.serves('apps', 'v1', 'deployments')).toBe(true);
        expect(await kube.serves('nobody.test', 'v1', 'things')).toBe(false);
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

      test('answers plain paths', async () => {
        expect((await kube.raw('GET', '/readyz')).body).toBe('ok');
        expect(JSON.parse((await kube.raw('GET', '/version')).body)).toHaveProperty('gitVersion');
        expect(await codeOf(kube.raw('GET', '/apis/nobody.test/v1'))).toBe('KUBE_NOT_FOUND');
      });
    });

    describe('watches', () => {
      const watched = async (which: object, act: () => Promise<unknown>, enough: number) => {
        const seen: WatchEvent<ConfigMap>[] = [];
        const own = new AbortController();
        const watching = kube
          .watch(configMaps, { namespace, ...which }, (event) => seen.push(event), { signal: own.signal })
          .catch(() => undefined);
        await act();
        await eventually(() => seen.filter(({ type }) => type !== 'BOOKMARK').length >= enough);
        own.abort();
        await watching;
        return seen;
      };
      const words = (events: readonly WatchEvent<ConfigMap>[]) =>
        events
          .filter(({ type }) => type !== 'BOOKMARK')
          .map(({ type, object }) => `${type} ${object.metadata.name}`)
          .filter((text) => !text.includes('kube-root-ca.crt'));

      test('tells everything after a version, in order', async () => {
        const { metadata } = await make('a');
        const events = await watched(
          { resourceVersion: metadata.resourceVersion, fieldSelector: 'metadata.name!=kube-root-ca.crt' },
          async () => {
            await make('b');
            await kube.patch(configMaps, { namespace, name: 'a' }, { merge: { data: { x: '1' } } });
            await kube.delete(configMaps, { namespace, name: 'b' });
          },
          3,
        );
        expect(words(events)).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b']);
        const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
        expect(versions).toEqual([...versions].sort((x, y) => x - y));
      });

      test('an object enters and leaves a selection', async () => {
        const { metadata } = await make('a', {}, { part: 'x' });
        const which = { namespace, name: 'a' };
        const relabel = (part: string) =>
          kube.patch(configMaps, which, { merge: { metadata: { labels: { part } } } });
        const events = await watched(
          { resourceVersion: metadata.resourceVersion, labelSelector: 'part=y' },
          async () => {
            await relabel('y');
            await relabel('z');
          },
          2,
        );
        expect(words(events)).toEqual(['ADDED a', 'DELETED a']);
      });

      test('begins with everything there is when asked, and says when that was all', async () => {
        await make('a');
        const seen: string[] = [];
        const own = new AbortController();
        const watching = kube
          .watch(
            configMaps,
            { namespace, sendInitialEvents: true, fieldSelector: 'metadata.name!=kube-root-ca.crt' },
            ({ type, object }) => {
              const end = object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
              seen.push(end ? 'END' : `${type} ${object.metadata.name}`);
              if (end) own.abort();
            },
            { signal: own.signal },
          )
          .catch(() => undefined);
        await watching;
        expect(seen).toEqual(['ADDED a', 'END']);
      });

      test('metadata only', async () => {
        const { metadata } = await make('a', { x: '1' });
        const events = await watched(
          { resourceVersion: metadata.resourceVersion, metadataOnly: true, labelSelector: 'in=test' },
          () => make('b', { x: '1' }, { in: 'test' }),
          1,
        );
        expect(words(events)).toEqual(['ADDED b']);
        expect(events[0]?.object.data).toBeUndefined();
      });

      test('a version that nobody remembers is gone', async () => {
        const { metadata } = await make('a');
        await make('b');
        await server.forget();
        const { resourceVersion } = metadata;
        const gone = kube.watch(configMaps, { namespace, resourceVersion }, () => undefined, { lifetime: 5 });
        expect(await codeOf(gone)).toBe('KUBE_GONE');
      });

      test('ends by itself when its time is up', async () => {
        const { metadata } = await make('a');
        const which = { namespace, resourceVersion: metadata.resourceVersion, labelSelector: 'none=here' };
        await kube.watch(configMaps, which, () => undefined, { lifetime: 1 });
      });

      test('ends without putting back what is taken for the server’s time', async () => {
        const { metadata } = await make('a');
        const which = { namespace, resourceVersion: metadata.resourceVersion, labelSelector: 'none=here' };
        const [shown = 0, from] = [kube.clock.now(), performance.now()];
        await kube.watch(configMaps, which, () => undefined, { lifetime: 3 });
        const elapsed = performance.now() - from;
        // The Date of a watch is that of its beginning.
        expect((kube.clock.now() ?? 0) - shown).toBeGreaterThanOrEqual(elapsed - 1_000);
      });
    });

    describe.each(['stream', 'pages'] as const)('an informer that lists by %s', (lists) => {
      test('equals the list, and follows', async () => {
        for (const name of ['a', 'b', 'c']) await make(name, { x: name }, { in: 'test' });
        const own = new AbortController();
        const informer = new Informer<ConfigMap, string>(kube, configMaps, {
          namespace,
          labelSelector: 'in=test',
          project: ({ data }) => data?.x,
          indexes: { value: (value) => [value] },
          lists,
          signal: own.signal,
        });
        const changes: string[] = [];
        informer.on('changed', ({ key, before, after }) =>
          changes.push(`${key.split('/')[1]} ${before}→${after}`),
        );
        informer.start();
        await informer.ready;
        expect(informer.list().sort()).toEqual(['a', 'b', 'c']);
        expect(informer.get(`${namespace}/b`)).toBe('b');
        expect(changes).toHaveLength(3);
        await kube.patch(configMaps, { namespace, name: 'b' }, { merge: { data: { x: 'B' } } });
        await make('d', { x: 'd' }, { in: 'test' });
        await kube.delete(configMaps, { namespace, name: 'a' });
        await eventually(() => changes.length === 6);
        expect(changes.slice(3)).toEqual(['b b→B', 'd undefined→d', 'a a→undefined']);
        expect(informer.by('value', 'B')).toEqual(['B']);
        expect(informer.by('value', 'b')).toEqual([]);
        own.abort();
      });
    });
  });
}
