import { plan } from '@handover/core';
import { HandoverError, instant, second } from '@handover/material';
import { expect, test } from 'vitest';
import { accepts, catalogue, MESH, on, type Parts, World } from '../../test/world.ts';
import { type Planner, reconcile, statusOf } from '../index.ts';

const ID = 'default/mesh';
const THEIRS = 'default/secrets/b';

/** Plans as if `b` lay in another namespace. */
const planner: Planner = (seen, policy, now) =>
  plan(
    seen,
    {
      ...policy,
      leaves: policy.leaves.map((leaf) => (leaf.object === THEIRS ? { ...leaf, elsewhere: true } : leaf)),
    },
    now,
  );

const refusing = (home: Parts): Parts => ({
  ...home,
  objects: {
    read: (id) => home.objects.read(id),
    issuedBy: (authority, known) => home.objects.issuedBy(authority, known),
    write: async (id, expect, make) => {
      if (id === THEIRS) throw new HandoverError('WRITE_REFUSED', `${id} may not be written`);
      return home.objects.write(id, expect, make);
    },
  },
});

test('a write that fails in another namespace is reported, and the authority goes on and tries again later', async () => {
  const world = new World();
  const home = refusing(world.home);
  const pass = () => reconcile(on(home, catalogue(MESH)), ID, planner);
  await pass();
  await pass();
  expect((await pass()).plan.actions).toMatchObject([{ kind: 'record-issuance' }]);
  expect((await pass()).refused).toEqual([
    { object: THEIRS, why: `${THEIRS} may not be written`, raced: false },
  ]);
  expect(await world.object('default/secrets/a')).toBeDefined();
  const { requeueAt, refused } = await pass();
  expect(refused).toHaveLength(1);
  expect(requeueAt).toBe(world.now + 2_000);
  world.rotate.push('r');
  expect((await pass()).plan.actions).toMatchObject([{ kind: 'mint' }]);
});

test('a write that fails in the authority’s own namespace fails the pass', async () => {
  const home = refusing(new World().home);
  await reconcile(on(home, catalogue(MESH)), ID);
  await expect(reconcile(on(home, catalogue(MESH)), ID)).rejects.toThrow('may not be written');
});

test('a clock that is set between planning and writing dates no CA: the world is observed again', async () => {
  const world = new World();
  let looks = 0;
  const clock = { now: () => world.now, steadySince: () => (++looks > 2 ? instant(5) : undefined) };
  const home: Parts = { ...world.home, clock };
  await expect(reconcile(on(home, catalogue(MESH)), ID)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await world.authorities.load(ID)).toBeUndefined();
});

test('the status of an authority says whether it is ready, and why not', async () => {
  const world = new World();
  const look = async () => (await statusOf(on(world.home, catalogue(MESH)).fresh)).authorities[0];
  expect(await look()).toMatchObject({
    ready: false,
    notReady: ['its first CA generation is being created'],
  });
  for (let pass = 0; pass < 3; pass++) await reconcile(on(world.home, catalogue(MESH)), ID);
  expect(await look()).toMatchObject({ ready: true, notReady: [] });
  const { data, version, record } = await world.object('default/configmaps/mesh-trust/ca.crt');
  if (record === undefined) throw new TypeError('no record');
  const other = new World();
  for (let pass = 0; pass < 2; pass++) await reconcile(on(other.home, catalogue(MESH)), ID);
  const foreign = (await other.object('default/configmaps/mesh-trust/ca.crt')).data;
  await world.objects.write('default/configmaps/mesh-trust/ca.crt', version, () => ({
    data: { ...data, ...foreign },
    record,
  }));
  expect((await look())?.notReady.join()).toMatch(
    /mesh-trust\/ca.crt refuses the leaf of default\/secrets\/a: /,
  );
});

test.each([
  [
    'deleted',
    (yaml: string) =>
      yaml.slice(0, yaml.indexOf('---\napiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: b')),
  ],
  [
    'renamed',
    (yaml: string) => yaml.replace('dnsNames: [b.local]', 'dnsNames: [b.local], secretName: other'),
  ],
])(
  'a Secret whose Leaf was %s, and that no pod mounts, holds no rotation up, and its CA stays trusted until its leaf has ended',
  async (_how, change) => {
    const world = new World();
    const known = ['a', 'b', 'other'].map((name) => ({
      id: `readers of ${name}`,
      reload: 'hot' as const,
      ownersWord: true,
      blocks: true,
      presents: [`default/secrets/${name}`],
      verifies: [],
      stripsCross: false,
      instances: [],
      workload: undefined,
    }));
    let words = known;
    const home: Parts = {
      ...world.home,
      facts: { ...world.home.facts, consumersFound: true },
      evidence: { consumers: async () => words },
    };
    const settle = async (yaml: string) => {
      for (let pass = 0; pass < 8; pass++) {
        await reconcile(on(home, catalogue(yaml)), ID);
        world.pass(180 * second);
      }
    };
    await settle(MESH);
    const leaf = (await world.object(THEIRS)).data['tls.crt'];
    words = known.filter(({ presents }) => presents[0] !== THEIRS);
    const without = change(MESH);
    expect(without).not.toBe(MESH);
    world.rotate.push('r');
    await settle(without);
    const state = (await world.authorities.load(ID))?.state;
    expect(state?.generations.map(({ role }) => role)).toEqual(['current', 'retained']);
    const bundle = (await world.object('default/secrets/a')).data['ca.crt'];
    expect(accepts(leaf, bundle, world.now)).toBe(true);
  },
);
