import { generateKey } from '@handover/core';
import { duration, hour, instant, minute } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { catalogue, MESH, on, World } from '../../test/world.ts';
import { converge, signExternal } from '../index.ts';

const ID = 'default/mesh';
const RESOURCES = catalogue(MESH);

let world: World;
beforeEach(async () => {
  world = new World();
  await converge(on(world.home, RESOURCES), ID);
});

const asked = () => {
  const leaf = [...RESOURCES.leaves.values()][0] ?? expect.fail('no Leaf');
  return {
    authority: ID,
    leaf: { ...leaf, spec: { ...leaf.spec, lifetime: duration(hour) } },
    publicKey: generateKey('ECDSA-P256').publicKey,
    for: { kind: 'Pod', namespace: 'default', name: 'a' },
    why: 'a test asks for it',
    shownIn: 'default/secrets/asked',
    forPod: true,
    back: duration(3 * minute),
  } as const;
};
const lent = (authorities = world.home.authorities) =>
  signExternal(on(world.home, RESOURCES), { authorities, catalogue: RESOURCES }, asked());
const caBegins = async (): Promise<number> => {
  const record = (await world.home.authorities.load(ID)) ?? expect.fail('no state');
  return Math.max(...[...record.certificates.values()].map(({ notBefore }) => notBefore));
};

test('a leaf for a pod begins a little in the past, and lives for as long as it was asked for', async () => {
  const [leaf] = (await lent()).chain;
  expect(leaf).toMatchObject({
    notBefore: world.now - 3 * minute,
    notAfter: world.now - 3 * minute + hour,
  });
});

test('a CA that has just begun does not shorten a leaf for a pod', async () => {
  const begins = await caBegins();
  world.now = instant(begins + minute);
  const [leaf] = (await lent()).chain;
  expect(leaf).toMatchObject({ notBefore: begins, notAfter: begins + hour });
});

test('a leaf for a pod is not handed out if another CA may sign meanwhile', async () => {
  const { authorities } = world.home;
  let loads = 0;
  const activated = {
    load: async (id: string) => {
      const record = await authorities.load(id);
      return loads++ === 0 || record === undefined
        ? record
        : { ...record, state: { ...record.state, revision: record.state.revision + 1 } };
    },
  };
  await expect(lent(activated as typeof authorities)).rejects.toMatchObject({
    code: 'CONFLICT',
    retry: 'now',
  });
});
