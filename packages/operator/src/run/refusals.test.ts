import { type KubeObject, secrets } from '@handover/kube';
import type { SeenRequest } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { OperatorWorld, placeOf } from '../../test/world.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';

let world: OperatorWorld;
beforeEach(async () => {
  world = await OperatorWorld.open({ namespaces: ['team'] });
});

/** From now on such requests are refused, until the returned function is called. */
const refuse = (status: number, reason: string, when: (request: SeenRequest) => boolean): (() => void) => {
  let refused = true;
  world.server.faults.add({
    when: (request) => refused && when(request),
    times: 1e9,
    status,
    reason,
    message: 'no such luck',
  });
  return () => {
    refused = false;
  };
};

/** The Ready condition of a resource, in a line. */
const ready = async (kind: keyof typeof RESOURCE_KINDS, id: string): Promise<string> => {
  const found: KubeObject | undefined = await world.kube.get(
    RESOURCE_KINDS[kind],
    id.includes('/') ? placeOf(id) : { name: id },
  );
  const { conditions = [] } = (found?.status ?? {}) as {
    conditions?: readonly { type: string; reason: string; message: string }[];
  };
  return conditions.flatMap((one) => (one.type === 'Ready' ? [`${one.reason}: ${one.message}`] : [])).join();
};
const says = (kind: keyof typeof RESOURCE_KINDS, id: string, what: RegExp): Promise<string> =>
  world.until(async () => what.exec(await ready(kind, id))?.input, `${kind} ${id} to say ${what}`);
/** Everything that the Ready condition says within `ms`. */
const saidIn = async (ms: number, kind: keyof typeof RESOURCE_KINDS, id: string): Promise<Set<string>> => {
  const said = new Set<string>();
  for (let passed = 0; passed < ms; passed += 500) {
    await world.clock.advance(500);
    said.add(await ready(kind, id));
  }
  return said;
};

const toTeam = ({ method, path }: SeenRequest): boolean =>
  method === 'POST' && path.endsWith('/namespaces/team/secrets');

test('the status of a Leaf keeps the reason why its Secret in another namespace is refused, at each new try too', async () => {
  const allow = refuse(403, 'Forbidden', toTeam);
  await world.authority({ issueTo: { namespaceSelector: {} } });
  await world.leaf('team/web', { authority: 'prod/mesh' });
  world.operate();
  const first = await says('Leaf', 'team/web', /refuses it/);
  expect(first).toContain('no such luck');
  const tries = (): number => world.server.requests.filter(toTeam).length;
  const before = tries();
  expect([...(await saidIn(60_000, 'Leaf', 'team/web'))]).toEqual([first]);
  expect(tries()).toBeGreaterThan(before + 1);
  // Said once in the log.
  const told = world.events.filter(({ kind }) => kind === 'obstructed');
  expect(told).toHaveLength(1);
  allow();
  await says('Leaf', 'team/web', /^Issued/);
  expect(world.events.filter(({ kind }) => kind === 'obstructed')).toHaveLength(2);
});

test('the status of a Leaf says why its Secret in another namespace could not be written, though another try comes soon', async () => {
  const allow = refuse(500, 'InternalError', toTeam);
  await world.authority({ issueTo: { namespaceSelector: {} } });
  await world.leaf('team/web', { authority: 'prod/mesh' });
  world.operate();
  await says('Leaf', 'team/web', /no such luck/);
  allow();
  await says('Leaf', 'team/web', /^Issued/);
});

test('the status of a Leaf says that its Secret is another Authority’s, which stays as it is until someone deletes it', async () => {
  await world.authority();
  await world.authority({}, 'prod/other');
  await world.leaf('prod/web');
  world.operate();
  await says('Leaf', 'prod/web', /^Issued/);
  const before = (await world.secret('prod/web'))?.data;
  const merge = { spec: { authority: 'other' } };
  await world.kube.patch(RESOURCE_KINDS.Leaf, placeOf('prod/web'), { merge });
  expect(await says('Leaf', 'prod/web', /^Refused/)).toMatch(
    /LEAF_MOVED: its Secret holds a certificate of Authority prod\/mesh, .* take spec\.authority prod\/mesh again/,
  );
  await world.clock.advance(60_000);
  expect((await world.secret('prod/web'))?.data).toEqual(before);
  await world.kube.delete(secrets, placeOf('prod/web'));
  await says('Leaf', 'prod/web', /^Issued/);
  expect((await world.secret('prod/web'))?.data).not.toEqual(before);
});

test('the status of a TrustBundle says why a target could not be created', async () => {
  const toTarget = ({ method, path }: SeenRequest): boolean =>
    method === 'POST' && path.endsWith('/namespaces/team/configmaps');
  const allow = refuse(403, 'Forbidden', toTarget);
  await world.authority();
  const targets = [{ configMap: { name: 'mesh-ca' } }];
  await world.ask('TrustBundle', 'mesh', { sources: [{ authority: 'prod/mesh' }], targets });
  world.operate();
  const first = await says('TrustBundle', 'mesh', /^TargetsFailing/);
  expect(first).toMatch(/1 of \d+ targets failed, such as team\/configmaps\/mesh-ca.*no such luck/);
  expect([...(await saidIn(40_000, 'TrustBundle', 'mesh'))]).toEqual([first]);
  allow();
  await says('TrustBundle', 'mesh', /^Written/);
});

test.each([
  [403, 'Forbidden'],
  [500, 'InternalError'],
])(
  'the status of a TLSProfile says why its ConfigMap could not be created: %i %s',
  async (status, reason) => {
    const allow = refuse(
      status,
      reason,
      ({ method, path }) => method === 'POST' && path.endsWith('/namespaces/team/configmaps'),
    );
    await world.ask('TLSProfile', 'team/modern', { type: 'Modern', configMapName: 'tls' });
    world.operate();
    const first = await says('TLSProfile', 'team/modern', /no such luck/);
    expect([...(await saidIn(40_000, 'TLSProfile', 'team/modern'))]).toEqual([first]);
    allow();
    await says('TLSProfile', 'team/modern', /^Written/);
  },
);

test('the status of an invalid resource that could not be written is written later, without a change of any resource', async () => {
  const allow = refuse(403, 'Forbidden', ({ path }) => path.endsWith('/leaves/web/status'));
  await world.leaf('prod/web', { authority: 'absent' });
  world.operate();
  await world.until(
    async () => world.failures.some((line) => line.includes('status of Leaf')) || undefined,
    'a try',
  );
  await world.clock.advance(60_000);
  // Tried again more and more seldom.
  expect(world.failures.filter((line) => line.includes('status of Leaf')).length).toBeLessThan(12);
  allow();
  await says('Leaf', 'prod/web', /^Invalid: .*there is no Authority prod\/absent/);
});
