import { expect, test } from 'vitest';
import { catalogue, MESH, on, World } from '../../test/world.ts';
import { reconcile } from '../controller/reconcile.ts';
import { converge, verifyAuthority } from '../index.ts';

const ID = 'default/mesh';
const instantly = MESH.replace('reloadWithin: 20s', 'reloadWithin: 20s, strategy: Instant');

test.each([
  ['Phased', MESH],
  ['Instant', instantly],
])('No object is called damaged between two steps of a rotation or a distrust (%s)', async (_, yaml) => {
  const world = new World();
  const home = on(world.home, catalogue(yaml));
  await converge(home, ID);
  let behind = 0;
  const settle = async (distrustAt?: number): Promise<void> => {
    for (let idle = 0; idle < 20; ) {
      const { plan } = await reconcile(home, ID);
      const state = (await world.authorities.load(ID))?.state;
      if (plan.actions.some(({ kind }) => kind === 'retire')) {
        behind++;
        if (distrustAt !== undefined) world.distrust.push(distrustAt);
      }
      const { problems } = await verifyAuthority(home, await home.fresh(), ID);
      expect(problems, `revision ${state?.revision}`).toEqual([]);
      idle = plan.actions.length === 0 ? idle + 1 : 0;
      if (plan.actions.length === 0) world.pass(30_000);
    }
  };
  world.rotate.push('one');
  await settle();
  world.rotate.push('two');
  await settle(3);
  expect(behind).toBe(2);
  const state = (await world.authorities.load(ID))?.state;
  expect(state?.generations.map(({ number, role }) => `${number} ${role}`)).toEqual(['4 current']);
});
