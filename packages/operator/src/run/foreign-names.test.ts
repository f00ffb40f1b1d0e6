import { HandoverError } from '@handover/material';
import { expect, test } from 'vitest';
import { OperatorWorld } from '../../test/world.ts';

/** Names of properties that every object has. */
const NAMES = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'] as const;

test.each(NAMES)('%s is a name like any other: of keys, files and sources', async (name) => {
  const world = await OperatorWorld.open();
  await world.authority();
  await world.leaf('prod/web');
  await world.leaf('prod/copies', { outputs: [{ format: 'pem', name }] });
  await world.ask('TrustBundle', 'by-key', {
    sources: [{ authority: 'prod/mesh' }],
    targets: [{ configMap: { name: 'by-key', key: name, namespaceSelector: {} } }],
  });
  await world.ask('TrustBundle', 'from-key', {
    sources: [{ secret: { name: 'empty', key: name } }],
    targets: [{ configMap: { name: 'from-key', namespaceSelector: {} } }],
  });
  await world.putSecret('handover-system/empty', {});
  world.operate();
  await world.issued('prod/web');
  await world.rotate();
  const signs = async (): Promise<true | undefined> =>
    (await world.status()).generations?.some(
      ({ generation, role }) => generation === 2 && role === 'current',
    ) || undefined;
  await world.until(signs, 'generation 2 to sign', 600_000);
  const bugs = world.events.filter(
    (event) => event.kind === 'failed' && !(event.error instanceof HandoverError),
  );
  expect(bugs).toEqual([]);
});

test.each([
  ['an exclusion', { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['restricted'] }] }, false],
  ['a label', { matchLabels: { team: 'pay' } }, false],
  ['the name', { matchLabels: { 'kubernetes.io/metadata.name': 'team' } }, true],
  ['nothing in particular', {}, true],
])(
  'an operator of some namespaces, which may not read labels, issues to a namespace that is selected by %s: %#',
  async (_by, namespaceSelector, issues) => {
    const world = await OperatorWorld.open();
    await world.namespace('team', { tier: 'restricted', team: 'pay' });
    await world.authority({ issueTo: { namespaceSelector } });
    await world.leaf('prod/web');
    await world.leaf('team/web', { authority: 'prod/mesh' });
    world.operate({ scope: { namespaces: ['prod', 'team'] } });
    await world.issued('prod/web');
    await world.clock.advance(60_000);
    expect((await world.secret('team/web')) !== undefined).toBe(issues);
  },
);

test('a label that claims the name of another namespace selects nothing', async () => {
  const world = await OperatorWorld.open();
  const named = (name: string): object => ({ matchLabels: { 'kubernetes.io/metadata.name': name } });
  await world.namespace('evil', { 'kubernetes.io/metadata.name': 'team' });
  await world.namespace('team');
  await world.authority({ issueTo: { namespaceSelector: named('team') } });
  await world.leaf('evil/web', { authority: 'prod/mesh' });
  await world.leaf('team/web', { authority: 'prod/mesh' });
  world.operate();
  await world.issued('team/web');
  await world.clock.advance(60_000);
  expect(await world.secret('evil/web')).toBeUndefined();
});
