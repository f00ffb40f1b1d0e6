import { parseResources } from '@handover/core';
import { catalogueOf } from '@handover/engine';
import { expect, test } from 'vitest';
import {
  type AffectedAuthorities,
  affectedAuthorities,
  type ChangedNamespaces,
} from './affected-authorities.ts';

type Value = { readonly kind: string; readonly metadata: object; readonly spec: object };

const authority = (id: string, spec: object = {}): Value => {
  const [namespace, name] = id.split('/');
  return { kind: 'Authority', metadata: { namespace, name }, spec };
};
const leaf = (id: string, of: string, secretName?: string): Value => {
  const [namespace, name] = id.split('/');
  const spec = {
    authority: of,
    dnsNames: [`${name}.${namespace}.svc`],
    ...(secretName === undefined ? {} : { secretName }),
  };
  return { kind: 'Leaf', metadata: { namespace, name }, spec };
};
const bundle = (name: string, authorities: readonly string[], target: object): Value => ({
  kind: 'TrustBundle',
  metadata: { name },
  spec: { sources: authorities.map((of) => ({ authority: of })), targets: [target] },
});

const WORLD = [
  authority('prod/mesh'),
  authority('prod/other'),
  authority('third/own'),
  authority('evil/own'),
  leaf('prod/web', 'mesh'),
  leaf('evil/web', 'own'),
  leaf('evil/far', 'third/own'),
];
const read = (values: readonly Value[]) => ({
  catalogue: catalogueOf(
    parseResources(
      values.map((value) => ({ value: { apiVersion: 'handover.dev/v1alpha1', ...value }, where: 'test' })),
    ),
    { onConflict: () => {} },
  ),
});
const affected = (
  before: readonly Value[],
  now: readonly Value[],
  touched: ChangedNamespaces = new Set(['evil']),
): readonly string[] => {
  const found: AffectedAuthorities = affectedAuthorities(touched, read(before), read(now));
  return found === 'all' ? ['all'] : [...found].sort();
};
const without = (name: string): readonly Value[] =>
  WORLD.filter(({ metadata }) => (metadata as { name: string }).name !== name);

test('a change in a namespace affects its Authorities, and those that its Leaves name', () => {
  expect(affected(WORLD, [...WORLD, leaf('evil/new', 'own')])).toEqual(['evil/own', 'third/own']);
  expect(affected(WORLD, [...WORLD, authority('evil/new')])).toEqual(['evil/new', 'evil/own', 'third/own']);
});

test('a change in a namespace affects the Authority that one of its Leaves named before', () => {
  expect(affected(WORLD, without('far'))).toEqual(['evil/own', 'third/own']);
  expect(affected(WORLD, [...without('far'), leaf('evil/far', 'prod/mesh')])).toEqual([
    'evil/own',
    'prod/mesh',
    'third/own',
  ]);
});

test('a change in a namespace affects an Authority that gets a Secret which another Leaf had before', () => {
  const second = leaf('evil/late', 'prod/mesh', 'web');
  expect(affected([...WORLD, second], [...without('web'), leaf('prod/web', 'mesh'), second])).toContain(
    'prod/mesh',
  );
});

test('a change in a namespace affects all Authorities that share a bundle with one of that namespace', () => {
  const shared = bundle('both', ['prod/other', 'evil/own'], {
    configMap: { name: 'both', namespaceSelector: {} },
  });
  expect(affected([shared, ...WORLD], [shared, ...WORLD, leaf('evil/new', 'own')])).toEqual([
    'evil/own',
    'prod/other',
    'third/own',
  ]);
});

test('a change in a namespace affects the Authorities of a bundle that loses a target to a Leaf, or gets it back', () => {
  const wide = bundle('wide', ['prod/other'], { secret: { name: 'taken', namespaceSelector: {} } });
  const taker = leaf('evil/taker', 'own', 'taken');
  expect(affected([...WORLD, wide], [taker, ...WORLD, wide])).toContain('prod/other');
  expect(affected([taker, ...WORLD, wide], [...WORLD, wide])).toContain('prod/other');
  expect(affected([taker, ...WORLD, wide], [taker, ...WORLD, leaf('evil/new', 'own'), wide])).not.toContain(
    'prod/other',
  );
});

test('a change outside all namespaces affects all Authorities', () => {
  expect(affected(WORLD, WORLD, 'all')).toEqual(['all']);
  expect(affectedAuthorities(new Set(), undefined, read(WORLD))).toBe('all');
});
