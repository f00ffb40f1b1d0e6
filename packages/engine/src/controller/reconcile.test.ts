import { bytesOf, parseCertificates, second } from '@handover/material';
import { beforeEach, describe, expect, test } from 'vitest';
import { accepts, catalogue, MESH, on, World } from '../../test/world.ts';
import { converge, reconcile, reconcileStaticBundle } from '../index.ts';

const OBJECTS = ['default/secrets/a', 'default/secrets/b', 'default/configmaps/mesh-trust/ca.crt'];
let world: World;
beforeEach(() => {
  world = new World();
});
const bundleOf = async (id: string): Promise<readonly string[]> => {
  const { data } = await world.object(id);
  return parseCertificates(data['ca.crt'] ?? '').certificates.map(
    ({ subject }) => subject.split(' ')[1] ?? '',
  );
};
const roles = async () =>
  (await world.authorities.load('default/mesh'))?.state.generations.map(
    ({ number, role }) => `${number} ${role}`,
  );

test('An authority comes into being with every object it is asked for, and then there is nothing to do', async () => {
  await converge(on(world.home, catalogue(MESH)), 'default/mesh');
  expect([...world.objects.writes].sort()).toEqual([...OBJECTS].sort());
  const { data, record } = await world.object('default/secrets/a');
  expect(Object.keys(data).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  expect(record?.type).toBe('kubernetes.io/tls');
  expect(accepts(data['tls.crt'], data['ca.crt'], world.now)).toBe(true);
  expect((await reconcile(on(world.home, catalogue(MESH)), 'default/mesh')).plan.actions).toEqual([]);
});

test('An authority rotates through every phase with one write per object and phase, and every pair accepted throughout', async () => {
  const resources = catalogue(MESH);
  await converge(on(world.home, resources), 'default/mesh');
  const chains: (Uint8Array | undefined)[] = [(await world.object('default/secrets/a')).data['tls.crt']];
  const bundles: (Uint8Array | undefined)[] = [(await world.object('default/secrets/b')).data['ca.crt']];
  world.rotate.push('r1');
  const phases: string[] = [];
  for (let step = 0; step < 3; step++) {
    world.objects.writes.length = 0;
    const { plan } = await converge(on(world.home, resources), 'default/mesh');
    phases.push(`${plan.phase} ${await roles()}`);
    expect([...world.objects.writes].sort()).toEqual([...OBJECTS].sort());
    chains.push((await world.object('default/secrets/a')).data['tls.crt']);
    bundles.push((await world.object('default/secrets/b')).data['ca.crt']);
    // A peer that lags one phase behind is still accepted by every other.
    for (const chain of chains.slice(-2))
      for (const bundle of bundles.slice(-2)) expect(accepts(chain, bundle, world.now)).toBe(true);
    const early = await reconcile(on(world.home, resources), 'default/mesh');
    expect(early.plan.actions).toEqual([]);
    world.pass(20 * second);
  }
  expect(phases).toEqual([
    'Introducing 2 next,1 current',
    'Activating 2 current,1 previous',
    'Stable 2 current',
  ]);
  for (const object of OBJECTS) expect(await bundleOf(object)).toEqual(['2']);
  const record = await world.authorities.load('default/mesh');
  expect([...(record?.keys.keys() ?? [])]).toEqual([2]);
  world.objects.writes.length = 0;
  await converge(on(world.home, resources), 'default/mesh');
  expect(world.objects.writes).toEqual([]);
});

test('With strategy Instant a Secret changes once, and both its leaf and its laggards are accepted', async () => {
  const resources = catalogue(MESH.replace('reloadWithin: 20s', 'reloadWithin: 20s, strategy: Instant'));
  await converge(on(world.home, resources), 'default/mesh');
  const old = (await world.object('default/secrets/b')).data['ca.crt'];
  world.rotate.push('r1');
  world.objects.writes.length = 0;
  const { plan } = await converge(on(world.home, resources), 'default/mesh');
  expect(plan.phase).toBe('Activating');
  expect([...world.objects.writes].sort()).toEqual([...OBJECTS].sort());
  const { data } = await world.object('default/secrets/a');
  expect(accepts(data['tls.crt'], old, world.now)).toBe(true);
  expect(await bundleOf('default/secrets/a')).toEqual(['2', '1']);
});

test('An authority restores what another program changed, and counts nothing in it as old', async () => {
  const resources = catalogue(MESH.replace('reloadWithin: 20s', 'reloadWithin: 1h'));
  await converge(on(world.home, resources), 'default/mesh');
  const before = await world.object('default/secrets/a');
  world.pass(1000 * second);
  world.objects.put('default/secrets/a', {
    data: { ...before.data, 'ca.crt': bytesOf('nonsense') },
    ...(before.record === undefined ? {} : { record: before.record, seal: before.claim?.seal }),
  });
  await converge(on(world.home, resources), 'default/mesh');
  const after = await world.object('default/secrets/a');
  expect(after.data).toEqual(before.data);
  expect(after.record?.anchors[0]?.since).toBe(world.now);
});

test('a leaf whose key is gone or is another one is issued again', async () => {
  const resources = catalogue(MESH);
  await converge(on(world.home, resources), 'default/mesh');
  const { data } = await world.object('default/secrets/a');
  const other = (await world.object('default/secrets/b')).data['tls.key'] ?? new Uint8Array();
  for (const key of [new Uint8Array(), other]) {
    world.objects.put('default/secrets/a', { data: { ...data, 'tls.key': key } });
    await converge(on(world.home, resources), 'default/mesh');
    expect((await world.object('default/secrets/a')).data['tls.crt']).not.toEqual(data['tls.crt']);
  }
});

test('An authority adopts CAs without their keys, trusts them first and issues later', async () => {
  const resources = catalogue(MESH.replace('spec: {', 'spec: {adopt: {secret: a}, '));
  await converge(on(world.home, resources), 'default/mesh');
  const upstream = (await world.object('default/secrets/a')).data;
  world = new World();
  world.objects.put('default/secrets/a', { data: upstream });
  const { plan } = await converge(on(world.home, resources), 'default/mesh');
  expect(plan.phase).toBe('Introducing');
  const first = (await world.object('default/secrets/a')).data;
  expect(first['tls.crt']).toEqual(upstream['tls.crt']);
  expect(accepts(upstream['tls.crt'], first['ca.crt'], world.now)).toBe(true);
  expect(await roles()).toEqual(['1 next', '0 current']);
  world.pass(20 * second);
  await converge(on(world.home, resources), 'default/mesh');
  const second_ = (await world.object('default/secrets/a')).data;
  expect(second_['tls.crt']).not.toEqual(upstream['tls.crt']);
  expect(accepts(upstream['tls.crt'], second_['ca.crt'], world.now)).toBe(true);
  world.pass(20 * second);
  await converge(on(world.home, resources), 'default/mesh');
  expect(
    accepts(upstream['tls.crt'], (await world.object('default/secrets/b')).data['ca.crt'], world.now),
  ).toBe(false);
});

test('a Leaf that is asked for no more holds up the end of a rotation until its files are gone or expired', async () => {
  await converge(on(world.home, catalogue(MESH)), 'default/mesh');
  const without = catalogue(MESH.slice(0, MESH.lastIndexOf('---')));
  world.rotate.push('r1');
  await converge(on(world.home, without), 'default/mesh');
  world.pass(20 * second);
  await converge(on(world.home, without), 'default/mesh');
  world.pass(20 * second);
  const { plan } = await converge(on(world.home, without), 'default/mesh');
  expect(plan.phase).toBe('Activating');
  expect(plan.blockedBy.map(({ consumer }) => consumer)).toEqual([
    'default/secrets/b (no Leaf may have it any more: remove its files once no program uses them)',
  ]);
});

test('An authority distrusts a generation at once, with its key gone, and says when it is done', async () => {
  const resources = catalogue(MESH);
  await converge(on(world.home, resources), 'default/mesh');
  world.distrust.push(1);
  await converge(on(world.home, resources), 'default/mesh');
  expect(await roles()).toEqual(['2 current', '1 distrusted']);
  expect(await bundleOf('default/secrets/a')).toEqual(['2']);
  expect([...((await world.authorities.load('default/mesh'))?.keys.keys() ?? [])]).toEqual([2]);
  world.pass(20 * second);
  await converge(on(world.home, resources), 'default/mesh');
  expect(await roles()).toEqual(['2 current']);
});

test('a CA that lives for minutes is rotated by its schedule, not at once', async () => {
  const resources = catalogue(MESH.replace('1y', '10m').replace('reloadWithin: 20s', 'reloadWithin: 5s'));
  await converge(on(world.home, resources), 'default/mesh');
  expect(await roles()).toEqual(['1 current']);
  world.pass(481 * second);
  await converge(on(world.home, resources), 'default/mesh');
  expect(await roles()).toEqual(['2 next', '1 current']);
});

describe('A TrustBundle', () => {
  const TWO = `${MESH}
---
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: other, namespace: far}
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: both}
spec:
  sources: [{authority: far/other}, {authority: default/mesh}]
  targets: [{configMap: {name: both, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: far}}}}]
`;
  const converged = async () => {
    for (let round = 0; round < 3; round++)
      for (const id of ['default/mesh', 'far/other']) await converge(on(world.home, catalogue(TWO)), id);
  };

  test('A TrustBundle of two authorities holds both in the order of its sources, and neither rewrites the other for ever', async () => {
    await converged();
    const { data } = await world.object('far/configmaps/both/ca.crt');
    expect(
      parseCertificates(data['ca.crt'] ?? '').certificates.map(({ subject }) => subject.slice(3, 8)),
    ).toEqual(['other', 'mesh ']);
    world.objects.writes.length = 0;
    await converged();
    expect(world.objects.writes).toEqual([]);
  });

  test('A TrustBundle of two authorities follows the rotation of each', async () => {
    await converged();
    world.rotate.push('r');
    for (let step = 0; step < 4; step++) {
      await converged();
      world.pass(200 * second);
    }
    const { data } = await world.object('far/configmaps/both/ca.crt');
    expect(
      parseCertificates(data['ca.crt'] ?? '').certificates.map(({ subject }) => subject.slice(3, 10)),
    ).toEqual(['other 2', 'mesh 2 ']);
  });

  test('A TrustBundle whose source cannot be read stays as it is, and holds the rotation up by name', async () => {
    const broken = TWO.replace('[{authority: far/other}', '[{secret: {name: gone}}, {authority: far/other}');
    await converged();
    const before = await world.object('far/configmaps/both/ca.crt');
    world.rotate.push('r');
    const { plan } = await converge(on(world.home, catalogue(broken)), 'default/mesh');
    world.pass(3600 * second);
    const later = await converge(on(world.home, catalogue(broken)), 'default/mesh');
    expect(plan.phase).toBe('Introducing');
    expect(later.plan.blockedBy.map(({ waitsFor }) => waitsFor).join()).toContain(
      'source default/secrets/gone/ca.crt does not exist',
    );
    expect(await world.object('far/configmaps/both/ca.crt')).toEqual(before);
  });

  test('A TrustBundle without an authority is copied, and not written twice', async () => {
    await converged();
    const root = (await world.object('default/secrets/a')).data['ca.crt'] ?? new Uint8Array();
    world.objects.put('default/secrets/root/ca.crt', { data: { 'ca.crt': root } });
    const resources = catalogue(
      TWO.replace('{authority: far/other}, {authority: default/mesh}', '{secret: {name: root}}'),
    );
    const [bundle] = resources.trustBundles;
    if (bundle === undefined) throw new Error('no bundle');
    const home = on(world.home, resources);
    expect(await reconcileStaticBundle(home, await home.fresh(), bundle)).toBe(true);
    expect(await reconcileStaticBundle(home, await home.fresh(), bundle)).toBe(false);
    expect((await world.object('far/configmaps/both/ca.crt')).data['ca.crt']).toEqual(root);
  });

  test('A TrustBundle with an authority is left to it, so that two passes never write one object in turns', async () => {
    await converged();
    const [bundle] = catalogue(TWO).trustBundles;
    if (bundle === undefined) throw new Error('no bundle');
    const home = on(world.home, catalogue(TWO));
    world.objects.put('far/configmaps/both/ca.crt', { data: { 'ca.crt': bytesOf('junk') } });
    expect(await reconcileStaticBundle(home, await home.fresh(), bundle)).toBe(false);
  });
});
