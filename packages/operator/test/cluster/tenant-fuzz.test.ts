// Annotations and labels of Handover on objects of another namespace never change the plan of an Authority.
import { plan } from '@handover/core';
import { observeWithRetry } from '@handover/engine';
import { configMaps, connect, type Kube, type KubeObject, namespaces, secrets } from '@handover/kube';
import { Operator, openView, RESOURCE_KINDS } from '@handover/operator';
import { FakeApiServer, namespaceObject, RANDOM_INPUTS } from '@handover/test-api-server';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resource, until } from './stage.ts';
import { hostile, TARGETS } from './tenant-marks.ts';
import {
  EVIL,
  kindNamed,
  OPERATOR_NAMESPACE,
  put,
  setTenantStage,
  type TenantStage,
} from './tenant-stage.ts';
import { OPEN, type Victim, victim } from './tenant-victim.ts';

const isElsewhere = (what: string): boolean => what.includes(`${EVIL}/`);

/** What would be done for one authority, with its revision and the bytes of its bundle: nothing of it may be evil's to say. */
const standing = async (kube: Kube, ids: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
  const end = new AbortController();
  try {
    const { read } = await openView({ kube, namespace: OPERATOR_NAMESPACE, signal: end.signal });
    const found: Record<string, unknown> = {};
    for (const id of ids) {
      const { seen, responsibilities, now } = await observeWithRetry(read, id);
      const { phase, actions, blockedBy, notes } = plan(seen, responsibilities.policy, now);
      const [namespace = '', name = ''] = id.split('/');
      const bundle = await kube.get(configMaps, { namespace, name: `${name}-trust` });
      found[id] = {
        phase,
        actions: actions.filter((action) => !('object' in action && isElsewhere(action.object))),
        blockedBy: blockedBy.map(({ consumer, waitsFor }) => ({ consumer, waitsFor })),
        notes: notes.filter(({ object }) => !isElsewhere(object)),
        revision: seen.authority?.revision,
        adoptable: seen.adoptable.length,
        bundle: bundle?.data?.['ca.crt'],
      };
    }
    return found;
  } finally {
    end.abort();
  }
};

const remove = async (kube: Kube, object: object): Promise<void> => {
  const { kind = '', metadata } = object as KubeObject;
  await kube.delete(
    kindNamed(kind),
    { namespace: EVIL, name: metadata.name ?? '' },
    { gracePeriodSeconds: 0 },
  );
};

/** Creates the objects, looks, and deletes them again. */
const unchangedBy =
  (by: Kube, reader: Kube, ids: readonly string[], before: unknown) =>
  async (objects: readonly object[]): Promise<void> => {
    const there: object[] = [];
    try {
      // What the API server refuses is no attack.
      for (const object of objects)
        await put(by, object).then(
          () => there.push(object),
          () => undefined,
        );
      expect(await standing(reader, ids)).toEqual(before);
    } finally {
      for (const object of there) await remove(by, object);
    }
  };

describe('on the API server in this process', () => {
  const end = new AbortController();
  let server: FakeApiServer;
  let kube: Kube;
  beforeAll(async () => {
    server = await FakeApiServer.start();
    for (const kind of Object.values(RESOURCE_KINDS)) server.serve(kind);
    kube = connect(server.config, { signal: end.signal, rate: false });
    for (const name of [OPERATOR_NAMESPACE, 'prod', EVIL])
      await kube.create(namespaces, namespaceObject(name));
    const stop = new AbortController();
    const operator = new Operator({
      kube: connect(server.config, { signal: end.signal, rate: false }),
      namespace: OPERATOR_NAMESPACE,
      identity: 'one',
      on: () => {},
    });
    const running = operator.run(stop.signal);
    const leaf = (name: string, namespace: string, authority: string): object =>
      resource('Leaf', name, { authority, dnsNames: [`${name}.${namespace}.svc`] }, namespace);
    for (const id of TARGETS) {
      const name = id.replace('prod/', '');
      await put(kube, resource('Authority', name, { issueTo: OPEN }, 'prod'));
      await put(kube, leaf(`${name}-web`, 'prod', name));
      await until(() => kube.get(secrets, { namespace: 'prod', name: `${name}-web` }), `the leaf of ${id}`);
    }
    await put(kube, leaf('mine', EVIL, 'prod/mesh'));
    await until(() => kube.get(secrets, { namespace: EVIL, name: 'mine' }), 'the leaf of evil');
    stop.abort();
    await running;
    // Nothing carries it out any more: what would be done stays what would be done.
    const ask = (name: string, annotations: object) =>
      kube.patch(
        RESOURCE_KINDS.Authority,
        { namespace: 'prod', name },
        { merge: { metadata: { annotations } } },
      );
    await ask('turning', { 'handover.dev/rotate': 'now' });
    await ask('dropping', { 'handover.dev/distrust': '1' });
  });
  afterAll(async () => {
    end.abort();
    await server.stop();
  });

  test(
    'marks on objects of another namespace never change what is planned for an Authority',
    RANDOM_INPUTS,
    async () => {
      const before = await standing(kube, TARGETS);
      expect(before).toMatchObject({
        'prod/mesh': { phase: 'Stable', actions: [], blockedBy: [] },
        'prod/turning': { actions: [{ kind: 'mint' }] },
        'prod/dropping': { actions: [{ kind: 'distrust' }] },
      });
      await fc.assert(fc.asyncProperty(hostile, unchangedBy(kube, kube, TARGETS, before)), {
        numRuns: 100,
        endOnFailure: true,
      });
    },
  );

  test(
    'marks on the Leaf and the Secret that another namespace has of an Authority never change what is planned for it',
    RANDOM_INPUTS,
    async () => {
      const ids = ['prod/mesh'];
      const before = await standing(kube, ids);
      const which = { namespace: EVIL, name: 'mine' };
      const kept = await kube.get(secrets, which);
      await fc.assert(
        fc.asyncProperty(hostile, fc.boolean(), async ([object], alsoData) => {
          const { metadata } = object as KubeObject;
          const { annotations = {}, labels = {} } = metadata;
          // What the Authority asks of it stays: readers and reloads are its owner's to say.
          await kube.patch(RESOURCE_KINDS.Leaf, which, { merge: { metadata: { annotations, labels } } });
          const data = alsoData ? { data: { 'ca.crt': 'eA==' } } : {};
          await kube.patch(secrets, which, { merge: { metadata: { annotations, labels }, ...data } });
          try {
            expect(await standing(kube, ids)).toEqual(before);
          } finally {
            const nothing = (map: object): object =>
              Object.fromEntries(Object.keys(map).map((mark) => [mark, null]));
            const plain = { annotations: nothing(annotations), labels: nothing(labels) };
            await kube.patch(RESOURCE_KINDS.Leaf, which, { merge: { metadata: plain } });
            const was = {
              annotations: { ...plain.annotations, ...kept?.metadata.annotations },
              labels: { ...plain.labels, ...kept?.metadata.labels },
            };
            await kube.patch(secrets, which, { merge: { metadata: was, data: kept?.data } });
          }
        }),
        { numRuns: 40, endOnFailure: true },
      );
    },
  );
});

describe('on a real API server, with the operator at work', () => {
  let stage: TenantStage;
  let prod: Victim;
  beforeAll(async () => {
    stage = await setTenantStage();
    prod = await victim(stage, 'prod');
    await prod.served();
    await until(async () => (await prod.status()).phase === 'Stable', 'prod to be Stable');
  }, 300_000);
  afterAll(() => stage?.stop());

  test(
    'marks on objects of another namespace never change what is planned for an Authority, and it rotates afterwards',
    RANDOM_INPUTS,
    async () => {
      const ids = ['prod/mesh'];
      const before = await standing(stage.admin, ids);
      const last: object[] = [];
      await fc.assert(
        fc.asyncProperty(hostile, async (objects) => {
          await unchangedBy(stage.evil, stage.admin, ids, before)(objects);
          last.push(...objects);
        }),
        { numRuns: 30, endOnFailure: true },
      );
      // All of them at once, to stay, and the operator has to get past them.
      for (const object of last.slice(0, 40)) await put(stage.evil, object).catch(() => undefined);
      await prod.rotated(2);
      expect(prod.lies).toEqual([]);
    },
  );
});
