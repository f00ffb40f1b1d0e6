import { beforeEach, expect, test } from 'vitest';
import { catalogue, MESH, on, type Parts, World } from '../../test/world.ts';
import { converge, digestOf, filesFrom, observeWithRetry, sealed } from '../index.ts';

const ID = 'default/mesh';
const authority = (namespace: string, name: string): string =>
  `---\napiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {}\n`;
const CROWD = Array.from({ length: 100 }, (_, index) => `a${index}`);
const SHARED = `${MESH.replace('spec: {', 'spec: {issueTo: {namespaceSelector: {}}, ')}---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: x, namespace: evil}
spec: {authority: default/mesh, dnsNames: [x.evil.svc], usages: [server]}
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: all}
spec:
  sources: [{authority: default/mesh}, {authority: evil/own}]
  targets: [{configMap: {name: all}}]
${authority('evil', 'own')}${authority('default', 'other')}${CROWD.map((name) => authority('evil', name)).join('')}`;
const RESOURCES = catalogue(SHARED);

let world: World;
let home: Parts;
let loads: string[];
beforeEach(async () => {
  world = new World();
  loads = [];
  home = {
    ...world.home,
    authorities: {
      load: async (id) => {
        loads.push(id);
        return world.authorities.load(id);
      },
      swap: (...args) => world.authorities.swap(...args),
    },
  };
  for (const id of [ID, 'evil/own', ID]) await converge(on(world.home, RESOURCES), id);
});

/** A record that says everything, with a seal that names everybody. */
const forge = (object: string, key: string): void => {
  const data = filesFrom({ [key]: 'junk' });
  const also = Object.fromEntries(CROWD.map((name) => [`evil/${name}`, 'a'.repeat(43)]));
  world.objects.put(object, {
    data,
    record: {
      digest: digestOf(data),
      revisions: { [ID]: 9 },
      anchors: [],
      changedAt: world.now,
      issuedBy: ID,
    },
    seal: { by: 'evil/a0', mac: 'a'.repeat(43), also },
  });
};

test.each([
  ['an object that only claims to hold a leaf', 'evil/secrets/unasked', 'tls.crt'],
  ['a leaf in another namespace', 'evil/secrets/x', 'tls.crt'],
  ['a bundle in another namespace', 'evil/configmaps/all/ca.crt', 'ca.crt'],
])('Authorities that are named in a seal are not loaded for %s', async (_what, object, key) => {
  forge(object, key);
  const { stored } = await observeWithRetry(on(home, RESOURCES).fresh, ID);
  expect(stored.get(object)?.record).toBeUndefined();
  expect([...new Set(loads)].sort()).toEqual([ID, 'evil/own']);
});

test('Authorities that are named in a seal are believed when they share a bundle, wherever it lies', async () => {
  const object = 'evil/configmaps/all/ca.crt';
  const { data, record } = await world.object(object);
  const own = await world.authorities.load('evil/own');
  if (record === undefined || own === undefined) throw new Error(`nothing is known of ${object}`);
  world.objects.put(object, { data, record, seal: sealed(object, record, 'evil/own', own.sealKey) });
  const { stored } = await observeWithRetry(on(home, RESOURCES).fresh, ID);
  expect(stored.get(object)?.record).toEqual(record);
});

test('Authorities that are named in a seal are believed in its own namespace: a bundle may change hands', async () => {
  const moved = catalogue(
    SHARED.replace('rotation: {', 'bundle: {configMapName: mine}, rotation: {').replace(
      'metadata: {name: other, namespace: default}\nspec: {}',
      'metadata: {name: other, namespace: default}\nspec: {bundle: {configMapName: mesh-trust}}',
    ),
  );
  const { stored } = await observeWithRetry(on(home, moved).fresh, 'default/other');
  const { record } = await world.object('default/configmaps/mesh-trust/ca.crt');
  expect(stored.get('default/configmaps/mesh-trust/ca.crt')?.record).toEqual(record);
  expect(record?.revisions[ID]).toBeDefined();
});
