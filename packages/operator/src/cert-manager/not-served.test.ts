import { beforeEach, expect, test } from 'vitest';
import { CertManagerWorld } from '../../test/cert-manager/world.ts';

let world: CertManagerWorld;
beforeEach(async () => {
  world = await CertManagerWorld.open();
  await world.authority();
});

test('Certificates of a namespace that the Authority does not serve cost no read and hold up no rotation', async () => {
  for (let index = 0; index < 20; index++) await world.certificate(`team/c${index}`);
  world.operate();
  await world.retired(1);
  await world.rotate();
  await world.retired(2);
  const read = world.server.requests.filter(({ path }) => path.includes('/namespaces/team/secrets/'));
  expect(read).toEqual([]);
  expect(world.failures).toEqual([]);
});
