import { expect, test } from 'vitest';
import { catalogue, on, resourcesOf, World } from '../../test/world.ts';
import { catalogueOf, reconcile } from '../index.ts';

const AUTHORITY = `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: mesh, namespace: prod}
spec: {issueTo: {namespaceSelector: {}, keys: [ECDSA-P256, RSA-4096]}}
`;
const leaf = (namespace: string, name: string, key: string): string => `
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: ${name}, namespace: ${namespace}}
spec: {authority: prod/mesh, dnsNames: [${name}.${namespace}.svc], key: ${key}}
`;
const many = (namespace: string, count: number, key: string): string =>
  Array.from({ length: count }, (_, index) => leaf(namespace, `l${index}`, key)).join('');

/** Which leaves each pass issues that issues any. */
const passesOver = async (yaml: string, passes: number): Promise<readonly (readonly string[])[]> => {
  const world = new World();
  world.home = { ...world.home, multiTenant: true };
  const known = catalogue(yaml);
  await reconcile(on(world.home, known), 'prod/mesh');
  const issued: (readonly string[])[] = [];
  for (let pass = 0; pass < passes; pass++) {
    const { plan } = await reconcile(on(world.home, known), 'prod/mesh');
    const leaves = plan.actions.flatMap((action) => (action.kind === 'write-leaf' ? [action.object] : []));
    if (leaves.length > 0) issued.push(leaves);
  }
  return issued;
};

test('an authority issues its own leaf in the first pass, whatever costly keys another namespace asks for', async () => {
  const yaml = `${AUTHORITY}${many('evil', 40, 'RSA-4096')}${leaf('prod', 'web', 'ECDSA-P256')}`;
  const [first = [], second = []] = await passesOver(yaml, 4);
  expect(first).toEqual(['prod/secrets/web']);
  expect(second).toEqual(['evil/secrets/l0']);
});

test('namespaces with costly keys are served in turns, and cheap keys all at once', async () => {
  const yaml = `${AUTHORITY}${many('evil', 40, 'RSA-4096')}${many('shop', 2, 'RSA-4096')}${many('test', 30, 'ECDSA-P256')}`;
  const [first = [], second = []] = await passesOver(yaml, 4);
  const inNamespace = (issued: readonly string[], namespace: string): number =>
    issued.filter((object) => object.startsWith(`${namespace}/`)).length;
  expect(['evil', 'shop', 'test'].map((namespace) => inNamespace(first, namespace))).toEqual([1, 1, 30]);
  expect(['evil', 'shop'].map((namespace) => inNamespace(second, namespace))).toEqual([1, 1]);
});

test('a home of one owner carries out its whole plan', async () => {
  const world = new World();
  const known = catalogue(`${AUTHORITY}${many('prod', 3, 'RSA-4096')}`);
  await reconcile(on(world.home, known), 'prod/mesh');
  const { plan } = await reconcile(on(world.home, known), 'prod/mesh');
  expect(plan.actions.filter(({ kind }) => kind === 'write-leaf')).toHaveLength(3);
});

test('a pass that writes only bundles elsewhere says that its own leaf is yet to come', async () => {
  const world = new World();
  world.home = { ...world.home, multiTenant: true };
  const yaml = `${AUTHORITY}${leaf('prod', 'web', 'ECDSA-P256')}
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: mesh}
spec:
  sources: [{authority: prod/mesh}]
  targets: [{configMap: {name: mesh-ca, namespaceSelector: {matchLabels: {trust: mesh}}}}]
`;
  const teams = Array.from({ length: 520 }, (_, index) => `team-${index}`);
  const namespaces = new Map(teams.map((name) => [name, { trust: 'mesh' }]));
  const home = on(world.home, catalogueOf(resourcesOf(yaml), { namespaces }));
  await reconcile(home, 'prod/mesh');
  const passes = [];
  for (let pass = 0; pass < 4; pass++) passes.push(await reconcile(home, 'prod/mesh'));
  const issued = passes.map(({ plan }) => plan.actions.some(({ kind }) => kind === 'write-leaf'));
  expect(issued).toEqual([false, false, true, false]);
  expect(passes.map(({ busy }) => busy)).toEqual([true, true, true, false]);
});
