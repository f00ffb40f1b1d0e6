import { beforeEach, expect, test } from 'vitest';
import { CertManagerWorld } from '../../test/cert-manager/world.ts';
import { HOT } from '../../test/world.ts';

let world: CertManagerWorld;
beforeEach(async () => {
  world = await CertManagerWorld.open();
  await world.authority({ rotation: { reloadWithin: '1s' } });
  world.operate();
  await world.retired(1);
});

/** The watches are there, so that only a read finds out. */
const watched = (): Promise<unknown> =>
  world.until(async () => {
    const kinds = ['/certificates', '/certificaterequests'];
    const asked = world.server.requests.map(({ path }) => path);
    return (
      kinds.every((kind) => asked.some((path) => path.includes(`cert-manager.io/v1${kind}`))) || undefined
    );
  }, 'the watches of cert-manager');

const lend = async (): Promise<void> => {
  world.play();
  await world.certified('prod/web', HOT);
};

for (const status of [404, 403, 500]) {
  test(`while cert-manager answers ${status} and has no leaf of the Authority, a rotation goes on, and a distrust ends`, async () => {
    await watched();
    world.breakApi(status);
    await world.rotate();
    await world.retired(2);
    await world.annotate('handover.dev/distrust', '2');
    await world.retired(3);
    expect(world.failures.filter((line) => !line.includes('cert-manager'))).toEqual([]);
  });

  test(`while cert-manager answers ${status} and has a leaf of the Authority, a rotation says why it waits, and a distrust does not wait`, async () => {
    await lend();
    world.breakApi(status);
    await world.rotate();
    await world.blocker(/of other programs: .*cert-manager's Certificates cannot be read: .*ends at/);
    await world.annotate('handover.dev/distrust', '1');
    await world.until(async () => {
      const { generations = [] } = await world.status();
      return generations.find(({ generation, role }) => generation === 1 && role === 'distrusted');
    }, 'generation 1 to be distrusted');
  });
}

test('a rotation goes on once the API of cert-manager is back', async () => {
  await lend();
  const mend = world.breakApi(500);
  await world.rotate();
  await world.blocker(/cert-manager's Certificates cannot be read/);
  await world.clock.advance(60_000);
  expect((await world.status()).generations).toHaveLength(2);
  mend();
  // A Certificate that could not be asked is asked again after half a minute.
  await world.retired(2, 90_000);
});

test('a Certificate that cannot be asked for a new leaf fails no pass, and the reason is in the status', async () => {
  await lend();
  world.breakApi(403, (method) => method === 'PATCH');
  await world.rotate();
  await world.blocker(/^prod\/secrets\/web: .*Certificate web cannot be asked for a new leaf: /);
  expect(world.failures).toEqual([]);
});
