import { day, duration } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { accepts, catalogue, MESH, on, World } from '../../test/world.ts';
import { converge, findingsIn, observeWithRetry, standingOf } from '../index.ts';

const OTHER = `---
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: other}
spec: {lifetime: 1y, rotation: {reloadWithin: 20s}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: c}
spec: {authority: other, dnsNames: [c.local]}
`;
const BEFORE = catalogue(`${MESH}${OTHER}`);
const toOther = (yaml: string): string =>
  yaml.replace('{authority: mesh, dnsNames: [a.local]}', '{authority: other, dnsNames: [a.local]}');
const MOVED = catalogue(`${toOther(MESH)}${OTHER}`);
const A = 'default/secrets/a';

let world: World;
beforeEach(async () => {
  world = new World();
  await both(BEFORE);
});

const both = async (resources = MOVED): Promise<void> => {
  for (const id of ['default/mesh', 'default/other']) await converge(on(world.home, resources), id);
};
/** Whether a program that reads its CAs from one Secret accepts the certificate of another. */
const verifies = async (verifier: string, presenter: string): Promise<boolean> =>
  accepts(
    (await world.object(presenter)).data['tls.crt'],
    (await world.object(verifier)).data['ca.crt'],
    world.now,
  );
const refusedBy = async (id: string): Promise<readonly string[]> => {
  const { responsibilities } = await observeWithRetry(on(world.home, MOVED).fresh, id);
  return responsibilities.refused.map(({ leaf, why }) => `${leaf}: ${why}`);
};

test('a Leaf that names another Authority keeps its certificate and its CA, and is refused with what to do', async () => {
  const before = await world.object(A);
  await both();
  expect((await world.object(A)).data).toEqual(before.data);
  expect(await verifies('default/secrets/b', A)).toBe(true);
  expect(await verifies(A, 'default/secrets/b')).toBe(true);
  expect(await refusedBy('default/other')).toEqual([
    expect.stringMatching(
      /^default\/a: LEAF_MOVED: its Secret holds a certificate of Authority default\/mesh, .* take spec\.authority default\/mesh again, /,
    ),
  ]);
  const thresholds = { warn: duration(day), critical: duration(day) };
  const findings = findingsIn(await standingOf(on(world.home, MOVED).fresh, 'default/other'), thresholds);
  expect(findings).toMatchObject([{ severity: 'critical', text: expect.stringContaining('default/a: ') }]);
});

test.each([
  ['declared', false],
  ['found', true],
])(
  'an Authority whose Leaf names another one stays trusted for the certificate that is still out there (consumers are %s)',
  async (_, consumersFound) => {
    const presents = ['default/secrets/b'];
    const known = { id: 'b', presents, verifies: presents, reload: 'hot' as const, ownersWord: true };
    const idle = { ...known, blocks: true, instances: [], workload: undefined };
    world.home = {
      ...world.home,
      facts: { ...world.home.facts, consumersFound },
      evidence: { consumers: async ({ id }) => (id === 'default/mesh' ? [idle] : []) },
    };
    await both();
    world.rotate.push('r');
    for (let minute = 0; minute < 10; minute++) {
      await both();
      world.pass(60_000);
    }
    const { observation, plan } = await standingOf(on(world.home, MOVED).fresh, 'default/mesh');
    expect(plan.blockedBy.map(({ consumer }) => consumer)).toEqual([expect.stringContaining(A)]);
    const { record } = observation;
    expect(record?.state.generations.map(({ number, role }) => `${number}:${role}`)).toEqual([
      '2:current',
      '1:previous',
    ]);
    expect(await verifies('default/secrets/b', A)).toBe(true);
  },
);

test('a Leaf that names another Authority is issued once its Secret holds no certificate', async () => {
  await both();
  world.objects.put(A, { data: {} });
  await both();
  expect(await verifies('default/secrets/c', A)).toBe(true);
  expect(await refusedBy('default/other')).toEqual([]);
});

test('a Leaf whose Authority is no longer declared is refused by another one', async () => {
  const [, alone = ''] = `${toOther(MESH)}${OTHER}`.split('metadata: {name: mesh}');
  const resources = catalogue(alone.slice(alone.indexOf('---')));
  const before = await world.object(A);
  await converge(on(world.home, resources), 'default/other');
  expect((await world.object(A)).data).toEqual(before.data);
});

test('a Leaf that names its old Authority again goes on as before', async () => {
  await both();
  const before = await world.object(A);
  await both(BEFORE);
  expect(await world.object(A)).toEqual(before);
});
