import type { Stamp } from '@handover/core';
import { bytesOf, duration, HandoverError, second } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { catalogue, MESH, on, type Parts, World } from '../../test/world.ts';
import { advance, type CertgenOptions, type CertgenResult, type ConsumerFound, certgen } from '../index.ts';

const ID = 'default/mesh';
let world: World;
beforeEach(() => {
  world = new World();
});
const run = (home: Parts, options: Partial<CertgenOptions> = {}): Promise<CertgenResult> =>
  certgen(on(home, catalogue(MESH)), ID, { overwrite: false, ...options });
const generation = async (): Promise<number | undefined> =>
  (await world.authorities.load(ID))?.state.lastGeneration;

/** The same home, on which another run is faster once, at the first step. */
const overtaken = (other: () => Promise<unknown>): Parts => {
  let done = false;
  return {
    ...world.home,
    authorities: {
      load: (id) => world.authorities.load(id),
      swap: async (id, expect, record) => {
        if (!done) {
          done = true;
          await other();
        }
        await world.authorities.swap(id, expect, record);
      },
    },
  };
};

test('Two runs at once that both find nothing make one CA, whether or not they are to overwrite', async () => {
  for (const overwrite of [false, true]) {
    world = new World();
    const late = await run(
      overtaken(() => run(world.home, { overwrite })),
      { overwrite },
    );
    expect(late).toMatchObject({ phase: 'Stable', written: 0 });
    expect(await generation()).toBe(1);
  }
});

test('Two runs at once with the same id rotate once', async () => {
  await run(world.home);
  await run(
    overtaken(() => run(world.home, { rotationId: 'x' })),
    { rotationId: 'x' },
  );
  expect(await generation()).toBe(2);
});

test('Two runs at once lose at most so many races before one gives up, with a code that says to try again', async () => {
  const home: Parts = {
    ...world.home,
    authorities: {
      load: (id) => world.authorities.load(id),
      swap: async (id) => {
        throw new HandoverError('CONFLICT', `${id} changed meanwhile`, { retry: 'now' });
      },
    },
  };
  await expect(run(home)).rejects.toMatchObject({ code: 'CONFLICT', retry: 'now' });
});

test('a plain run of certgen creates what is missing and repairs what was changed, and writes nothing else', async () => {
  await run(world.home);
  const a = await world.object('default/secrets/a');
  const trust = 'default/configmaps/mesh-trust/ca.crt';
  for (const id of ['default/secrets/b', trust]) {
    const { data, record, claim } = await world.object(id);
    if (record !== undefined)
      world.objects.put(id, { data: { ...data, 'ca.crt': bytesOf('other') }, record, seal: claim?.seal });
  }
  expect(await run(world.home)).toMatchObject({ written: 2 });
  for (const id of ['default/secrets/b', trust])
    expect((await world.object(id)).data['ca.crt']).toEqual(a.data['ca.crt']);
  expect((await world.object('default/secrets/a')).version).toBe(a.version);
  expect(await run(world.home)).toMatchObject({ written: 0 });
});

test('certgen reports a restart that is due as soon as caches have passed, until it has been made', async () => {
  const stamped: Stamp[] = [];
  const reader: ConsumerFound = {
    id: 'Deployment default/reader',
    reload: 'restart',
    ownersWord: false,
    blocks: true,
    presents: ['default/secrets/a'],
    verifies: ['default/secrets/a'],
    instances: [{ uid: 'pod', createdAt: world.now, ready: true, stamp: undefined, proofs: [] }],
    workload: { stamp: undefined, rolling: false },
    workloadVersion: '1',
  };
  const home: Parts = {
    ...world.home,
    facts: { ...world.home.facts, consumersFound: true, cacheLag: duration(10 * second) },
    evidence: {
      consumers: async () => [{ ...reader, workload: { stamp: stamped[0], rolling: stamped.length > 0 } }],
    },
    rollouts: { stamp: async (_consumer, _version, stamp) => void stamped.push(stamp) },
  };
  const instantly = catalogue(MESH.replace('reloadWithin: 20s', 'reloadWithin: 20s, strategy: Instant'));
  const again = (rotationId?: string): Promise<CertgenResult> =>
    certgen(on(home, instantly), ID, {
      overwrite: false,
      rotationId,
    });
  expect(await again()).toMatchObject({ restartsDue: false });
  world.pass(60 * second);
  expect(await again('x')).toMatchObject({ phase: 'Activating', restartsDue: true });
  expect(stamped).toEqual([]);
  world.pass(9 * second);
  expect(await advance(on(home, instantly), ID)).toMatchObject({ restartsDue: true });
  world.pass(2 * second);
  expect(await again('x')).toMatchObject({ restartsDue: false });
  expect(stamped).toMatchObject([{ trust: 2, issuer: 2 }]);
});
