import { expect, test } from 'vitest';
import { catalogue, on, World } from '../../test/world.ts';
import { converge } from '../index.ts';

const resource = (kind: string, metadata: string, spec: string) =>
  `apiVersion: handover.dev/v1alpha1\nkind: ${kind}\nmetadata: {${metadata}}\nspec: {${spec}}\n`;
const join = (...parts: readonly string[]) => parts.join('---\n');
const MESH = resource('Authority', 'name: mesh', '');

test.each([
  [
    'two Leaves with one Secret',
    join(
      MESH,
      resource('Leaf', 'name: a', 'authority: mesh, secretName: x, dnsNames: [a]'),
      resource('Leaf', 'name: b', 'authority: mesh, secretName: x, dnsNames: [b]'),
    ),
    /Leaf default\/b and Leaf default\/a would both write default\/secrets\/x/,
  ],
  [
    'a Leaf and a TrustBundle into its Secret',
    join(
      MESH,
      resource('Leaf', 'name: a', 'authority: mesh, dnsNames: [a]'),
      resource(
        'TrustBundle',
        'name: t',
        'sources: [{authority: default/mesh}], targets: [{secret: {name: a, key: more.crt}}]',
      ),
    ),
    /TrustBundle t and Leaf default\/a would both write/,
  ],
  [
    'an Authority and a TrustBundle into one key',
    join(
      MESH,
      resource(
        'TrustBundle',
        'name: t',
        'sources: [{authority: default/mesh}], targets: [{configMap: {name: mesh-trust}}]',
      ),
    ),
    /both write default\/configmaps\/mesh-trust\/ca\.crt/,
  ],
])('Two resources that would write the same object are refused: %s', (_name, yaml, says) => {
  expect(() => catalogue(yaml)).toThrow(says);
});

test('Two resources that write two keys of one ConfigMap are both accepted', async () => {
  const world = new World();
  const resources = catalogue(
    join(
      MESH,
      resource(
        'TrustBundle',
        'name: t',
        'sources: [{authority: default/mesh}], targets: [{configMap: {name: mesh-trust, key: other.crt}}]',
      ),
    ),
  );
  await converge(on(world.home, resources), 'default/mesh');
  expect(world.objects.writes.sort()).toEqual([
    'default/configmaps/mesh-trust/ca.crt',
    'default/configmaps/mesh-trust/other.crt',
  ]);
});

test('a refused leaf is not issued, and the others are', async () => {
  const world = new World();
  const resources = catalogue(
    join(
      MESH,
      resource('Leaf', 'name: own', 'authority: mesh, dnsNames: [own]'),
      resource('Leaf', 'name: l, namespace: far', 'authority: default/mesh, dnsNames: [l]'),
    ),
  );
  await converge(on(world.home, resources), 'default/mesh');
  expect(world.objects.writes).toContain('default/secrets/own');
  expect(world.objects.writes).not.toContain('far/secrets/l');
});
