import { bytesOf, day } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { catalogue, MESH, on, type Parts, World } from '../../test/world.ts';
import { converge, type Observation, reconcile, repair, sealed } from '../index.ts';

const ID = 'default/mesh';
const BUNDLES = `
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: spread}
spec:
  sources: [{authority: default/mesh}]
  targets: [{configMap: {name: one, key: ca.crt}}, {configMap: {name: two, key: ca.crt}}]
`;
const RESOURCES = catalogue(MESH + BUNDLES);
const ONE = 'default/configmaps/one/ca.crt';
const TWO = 'default/configmaps/two/ca.crt';
const SECRET = 'default/secrets/a';

let world: World;
let home: Parts;
let rest: Observation;
let reads: string[];
beforeEach(async () => {
  world = new World();
  ({ observation: rest } = await converge(on(world.home, RESOURCES), ID));
  reads = [];
  home = {
    ...world.home,
    cached: {
      ...world.home,
      objects: {
        ...world.home.objects,
        read: (id) => {
          reads.push(id);
          return world.objects.read(id);
        },
        issuedBy: async () => [],
      },
    },
  };
  world.objects.writes.length = 0;
});

/** Bytes of another program. */
const spoil = async (id: string, key = 'ca.crt'): Promise<void> => {
  const { version, data, record } = await world.object(id);
  if (record === undefined) throw new Error(`${id} has no record`);
  await world.objects.write(id, version, () => ({ data: { ...data, [key]: bytesOf('junk') }, record }));
  world.objects.writes.length = 0;
};

test('A bundle that drifted under an authority at rest is written once, to the bytes it had, and nothing else is read', async () => {
  const before = (await world.object(ONE)).data;
  await spoil(ONE);
  expect(await repair(on(home, RESOURCES), rest, [ONE])).toBe(true);
  expect((await world.object(ONE)).data).toEqual(before);
  expect(world.objects.writes).toEqual([ONE]);
  expect(reads).toEqual([ONE]);
});

test('A full pass after the repair of a bundle finds nothing to do', async () => {
  await spoil(ONE);
  await repair(on(home, RESOURCES), rest, [ONE]);
  const { plan } = await converge(on(world.home, RESOURCES), ID);
  expect(plan.actions).toEqual([]);
  expect(world.objects.writes).toEqual([ONE]);
});

test('A bundle that holds what it should is not written', async () => {
  expect(await repair(on(home, RESOURCES), rest, [ONE])).toBe(true);
  expect(world.objects.writes).toEqual([]);
});

test('A bundle that drifted is left to a full pass once the authority has moved on: its next generation must not go from a bundle', async () => {
  const alone = catalogue(MESH.split('---')[0] ?? '');
  const own = 'default/configmaps/mesh-trust/ca.crt';
  const { observation } = await converge(on(world.home, alone), ID);
  world.rotate.push('r1');
  await reconcile(on(world.home, alone), ID);
  expect((await world.authorities.load(ID))?.state.lastGeneration).toBe(2);
  await spoil(own);
  expect(await repair(on(home, RESOURCES), observation, [own])).toBe(false);
  expect(world.objects.writes).toEqual([]);
});

test('A bundle that drifted is left to a full pass when something else is due by now', async () => {
  await spoil(ONE);
  world.pass(80 * day);
  expect(await repair(on(home, RESOURCES), rest, [ONE])).toBe(false);
  expect(world.objects.writes).toEqual([]);
});

test('A bundle that drifted is left to a full pass when it was made by a later authority than ours', async () => {
  const { version, data, record } = await world.object(ONE);
  const { sealKey } = (await world.authorities.load(ID)) ?? {};
  if (record === undefined || sealKey === undefined) throw new Error('no record');
  const later = { ...record, revisions: { [ID]: 99 } };
  await world.objects.write(ONE, version, () => ({
    data: { ...data, 'ca.crt': bytesOf('junk') },
    record: later,
    seal: sealed(ONE, later, ID, sealKey),
  }));
  world.objects.writes.length = 0;
  await repair(on(home, RESOURCES), rest, [ONE]);
  expect(world.objects.writes).toEqual([]);
});

test('A bundle that drifted is left to a full pass when it is gone', async () => {
  const gone: Parts = {
    ...home,
    cached: {
      ...world.home,
      objects: { ...world.home.objects, read: async () => undefined, issuedBy: async () => [] },
    },
  };
  expect(await repair(on(gone, RESOURCES), rest, [ONE])).toBe(false);
  expect(world.objects.writes).toEqual([]);
});

test('A repair of a bundle writes no leaf, and no bundle that was not named', async () => {
  await spoil(SECRET);
  expect(await repair(on(home, RESOURCES), rest, [SECRET])).toBe(false);
  await spoil(TWO);
  expect(await repair(on(home, RESOURCES), rest, [ONE])).toBe(true);
  expect(world.objects.writes).toEqual([]);
});

test('A bundle that drifted is left to a full pass once the clock was set', async () => {
  await spoil(ONE);
  const clock = { ...world.home.clock, steadySince: () => world.now };
  expect(await repair(on({ ...home, clock }, RESOURCES), rest, [ONE])).toBe(false);
  expect(world.objects.writes).toEqual([]);
});
