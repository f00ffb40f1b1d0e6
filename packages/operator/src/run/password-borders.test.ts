import { secrets } from '@handover/kube';
import { beforeEach, expect, test } from 'vitest';
import { OperatorWorld, placeOf } from '../../test/world.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';

let world: OperatorWorld;
beforeEach(async () => {
  world = await OperatorWorld.open({ namespaces: ['evil'] });
  world.operate();
});

const keystores = (secretNames: readonly string[]): readonly object[] =>
  secretNames.map((name, index) => ({
    name: `o${index}.jks`,
    format: 'jks',
    passwordFrom: { secret: { name } },
  }));
const meshFor = (namespaceSelector: object | undefined): Promise<unknown> =>
  world.authority(namespaceSelector === undefined ? {} : { issueTo: { namespaceSelector } });
const prodLeaf = async (name: string): Promise<void> => {
  await world.leaf(`prod/${name}`);
  await world.issued(`prod/${name}`);
};
const namedPasswords = (): readonly string[] => [
  ...new Set(
    world.server.requests.flatMap(({ path, query }) => {
      const name = query.get('fieldSelector') ?? path.split('/').at(-1) ?? '';
      return path.includes('/namespaces/evil/secrets') && name.includes('pw') ? [name] : [];
    }),
  ),
];
/** Writes to a Secret of evil for two seconds, 33 times a second. */
const churn = async (name: string): Promise<void> => {
  for (let n = 0; n < 66; n++) {
    const merge = { metadata: { annotations: { n: `${n}` } } };
    await world.kube.patch(secrets, { namespace: 'evil', name }, { merge, fieldManager: 'evil' });
    await world.clock.advance(30);
  }
};

test('passwords of Leaves that no Authority issues are not read', async () => {
  await meshFor(undefined);
  for (const [index, authority] of ['nobody', 'prod/mesh', 'prod/nobody'].entries()) {
    const names = Array.from({ length: 16 }, (_, each) => `pw-${index}-${each}`);
    await world.leaf(`evil/e${index}`, { authority, outputs: keystores(names) });
  }
  await prodLeaf('web');
  expect(namedPasswords()).toEqual([]);
});

test('passwords that do not come hold up only the Leaf that needs them', async () => {
  world.server.faults.add({
    when: ({ path, query }) =>
      path.includes('/namespaces/evil/secrets') && (query.get('fieldSelector') ?? '').includes('pw'),
    times: 1_000,
    does: 'hang',
  });
  await meshFor({});
  const outputs = keystores(['pw-a', 'pw-b']);
  await world.leaf('evil/e', { authority: 'prod/mesh', outputs });
  await world.leaf('evil/plain', { authority: 'prod/mesh' });
  await prodLeaf('web');
  await world.issued('evil/plain');
  expect(namedPasswords()).not.toEqual([]);
  expect(await world.secret('evil/e')).toBeUndefined();
});

test('writes in another namespace cost an Authority one pass a second at most, and none if it refuses the Leaf', async () => {
  await meshFor({});
  await prodLeaf('web');
  const refused = { authority: 'prod/mesh', dnsNames: ['x.prod.svc'], outputs: keystores(['pw']) };
  await world.leaf('evil/refused', { ...refused, secretName: 'pw' });
  await world.putSecret('evil/pw', {}, { 'handover.dev/managed': 'true' });
  await prodLeaf('web2');
  const before = world.rests();
  await churn('pw');
  // The pass that the last Leaf calls for may still be coming.
  expect(world.rests() - before).toBeLessThanOrEqual(3);

  await world.leaf('evil/allowed', { authority: 'prod/mesh' });
  await world.issued('evil/allowed');
  const then = world.rests();
  await churn('allowed');
  expect(world.rests() - then).toBeLessThanOrEqual(2 + 3);
  expect(world.rests()).toBeGreaterThan(then);
});

test('a Leaf gets its keystore once its password exists, and a new keystore with a new password', async () => {
  await meshFor({});
  const outputs = keystores(['pw']);
  await world.leaf('evil/java', { authority: 'prod/mesh', outputs });
  const ready = async (): Promise<string> =>
    JSON.stringify(await world.kube.get(RESOURCE_KINDS.Leaf, placeOf('evil/java')));
  await world.until(
    async () =>
      (await ready()).includes('Secret evil/pw does not exist; write the password there') || undefined,
    'the Leaf to say what it lacks',
    10_000,
  );
  await world.putSecret('evil/pw', { password: 'first password' });
  // Sooner than the next look that nothing calls for.
  const first = await world.until(() => world.held('evil/java', 'o0.jks'), 'the keystore', 10_000);
  const merge = { data: { password: Buffer.from('second password').toString('base64') } };
  await world.kube.patch(secrets, { namespace: 'evil', name: 'pw' }, { merge, fieldManager: 'test' });
  const other = async (): Promise<true | undefined> =>
    (await world.held('evil/java', 'o0.jks')) !== first || undefined;
  await world.until(other, 'another keystore', 10_000);
});
