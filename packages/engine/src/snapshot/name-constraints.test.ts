import { day, minute, parseCertificates } from '@handover/material';
import { expect, test } from 'vitest';
import { accepts, catalogue, on, World } from '../../test/world.ts';
import { converge, observeWithRetry, statusOf } from '../index.ts';

const resources = (constraints: string, ...leaves: readonly (readonly [string, string])[]) =>
  catalogue(
    [
      `apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: mesh}\nspec: {lifetime: 1y, rotation: {reloadWithin: 20s}, ${constraints}}\n`,
      ...leaves.map(
        ([name, names]) =>
          `apiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: ${name}}\nspec: {authority: mesh, dnsNames: [${names}]}\n`,
      ),
    ].join('---\n'),
  );

const refusals = async (world: World, of: ReturnType<typeof resources>) =>
  (await observeWithRetry(on(world.home, of).fresh, 'default/mesh')).responsibilities.refused.map(
    ({ leaf, why }) => `${leaf}: ${why}`,
  );

const BUNDLE = 'default/configmaps/mesh-trust/ca.crt';
const constraintsIn = async (world: World) =>
  parseCertificates((await world.object(BUNDLE)).data['ca.crt'] ?? '').certificates.map(
    ({ nameConstraints }) =>
      nameConstraints?.permitted.map((name) => (name.kind === 'dns' ? name.value : name.kind)).join(),
  );

test('a leaf outside the name constraints is refused with the reason; the others are issued and verify', async () => {
  const world = new World();
  const of = resources('nameConstraints: {dnsNames: [mesh.svc]}', ['a', 'a.mesh.svc'], ['b', 'b.prod.svc']);
  await converge(on(world.home, of), 'default/mesh');
  expect(await constraintsIn(world)).toEqual(['mesh.svc']);
  const { data } = await world.object('default/secrets/a');
  expect(accepts(data['tls.crt'], data['ca.crt'], world.now)).toBe(true);
  expect(world.objects.writes).not.toContain('default/secrets/b');
  const status = await statusOf(on(world.home, of).fresh);
  expect(status.authorities[0]?.leaves.find(({ name }) => name === 'b')?.refused).toBe(
    'authority default/mesh refuses it: spec.dnsNames: "b.prod.svc" is outside spec.nameConstraints of the Authority; change it, or ask the Authority\'s owner to permit it there',
  );
});

test('a permitted name that is new waits until every CA in use permits it', async () => {
  const world = new World();
  await converge(
    on(world.home, resources('nameConstraints: {dnsNames: [mesh.svc]}', ['a', 'a.mesh.svc'])),
    'default/mesh',
  );
  const wider = resources(
    'nameConstraints: {dnsNames: [mesh.svc, prod.svc]}',
    ['a', 'a.mesh.svc'],
    ['b', 'b.prod.svc'],
  );
  const waits =
    'default/b: authority default/mesh refuses it: spec.dnsNames: "b.prod.svc" is outside the name constraints of CA generation 1; remove it until that generation has left the bundles';
  await converge(on(world.home, wider), 'default/mesh');
  expect(await refusals(world, wider)).toEqual([waits]);
  world.rotate.push('r1');
  const seen: string[] = [];
  for (let step = 0; step < 20; step++) {
    await converge(on(world.home, wider), 'default/mesh');
    const { record } = await observeWithRetry(on(world.home, wider).fresh, 'default/mesh');
    const roles = record?.state.generations.map(({ number, role }) => `${number} ${role}`).join(', ') ?? '';
    const bundle = (await world.object(BUNDLE)).data['ca.crt'];
    for (const certificate of record?.certificates.values() ?? [])
      expect(certificate.nameConstraints).toBeDefined();
    const b = await world.objects.read('default/secrets/b');
    // A verifier that still holds the bundle from before the rotation would refuse it.
    if (b !== undefined) expect(roles).toBe('2 current');
    if (b !== undefined) expect(accepts(b.data['tls.crt'], bundle, world.now)).toBe(true);
    if (seen.at(-1) !== roles) seen.push(roles);
    world.pass(minute);
  }
  expect(seen).toEqual(['2 next, 1 current', '2 current, 1 previous', '2 current']);
  expect(await refusals(world, wider)).toEqual([]);
  expect(await constraintsIn(world)).toEqual(['mesh.svc,prod.svc']);
  expect(world.objects.writes).toContain('default/secrets/b');
});

test('name constraints that are removed stay until the next CA generation', async () => {
  const world = new World();
  const bound = resources('nameConstraints: {dnsNames: [mesh.svc]}', ['a', 'a.mesh.svc']);
  await converge(on(world.home, bound), 'default/mesh');
  const free = resources('', ['a', 'a.mesh.svc'], ['b', 'b.prod.svc']);
  world.pass(day);
  await converge(on(world.home, free), 'default/mesh');
  expect(await constraintsIn(world)).toEqual(['mesh.svc']);
  expect(await refusals(world, free)).toHaveLength(1);
});
