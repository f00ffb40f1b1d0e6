import { describe, expect, test } from 'vitest';
import { catalogue, World } from '../test/world.ts';
import { converge, policyFor } from './index.ts';

const resource = (kind: string, metadata: string, spec: string) =>
  `apiVersion: handover.dev/v1alpha1\nkind: ${kind}\nmetadata: {${metadata}}\nspec: {${spec}}\n`;
const join = (...parts: readonly string[]) => parts.join('---\n');
const MESH = resource('Authority', 'name: mesh', '');

describe('Two resources that would write the same object are refused', () => {
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
  ])('%s', (_name, yaml, says) => {
    expect(() => catalogue(yaml)).toThrow(says);
  });

  test('but two keys of one ConfigMap are two objects', async () => {
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
    await converge(world.home, resources, 'default/mesh');
    expect(world.objects.writes.sort()).toEqual([
      'default/configmaps/mesh-trust/ca.crt',
      'default/configmaps/mesh-trust/other.crt',
    ]);
  });
});

describe('Who may have leaves, and of which names', () => {
  const refusedBy = (issueTo: string, namespace: string, leaf: string) => {
    const resources = catalogue(
      join(
        resource('Authority', 'name: mesh, namespace: home', issueTo === '' ? '' : `issueTo: ${issueTo}`),
        resource('Leaf', `name: l, namespace: ${namespace}`, `authority: home/mesh, ${leaf}`),
      ),
    );
    const facts = { consumersFound: false, cacheLag: 0, trustNamespace: 'default' } as never;
    return policyFor(resources, 'home/mesh', facts, new Map())
      .refused.map(({ why }) => why)
      .join();
  };

  test.each([
    ['', 'home', 'dnsNames: [anything.example]', ''],
    ['', 'far', 'dnsNames: [x.far.svc]', 'does not allow leaves of namespace far'],
    ['{namespaceSelector: {}}', 'far', 'dnsNames: [x.far.svc, x.far.svc.cluster.local]', ''],
    ['{namespaceSelector: {}}', 'far', 'dnsNames: [x.home.svc]', 'does not allow the name x.home.svc'],
    [
      '{namespaceSelector: {}}',
      'far',
      'dnsNames: [x.far.svc.evil]',
      'does not allow the name x.far.svc.evil',
    ],
    ['{namespaceSelector: {}}', 'far', 'ipAddresses: [127.0.0.1]', 'DNS names only'],
    [
      '{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: near}}}',
      'far',
      'dnsNames: [x.far.svc]',
      'namespace far',
    ],
    ['{dnsNames: ["*.mesh.svc"]}', 'home', 'dnsNames: [a.mesh.svc]', ''],
    ['{dnsNames: ["*.mesh.svc"]}', 'home', 'dnsNames: [mesh.svc]', 'does not allow the name mesh.svc'],
    ['{dnsNames: ["*.mesh.svc"]}', 'home', 'dnsNames: [axmeshxsvc]', 'does not allow the name'],
  ])('issueTo %s, a leaf in %s with %s: %s', (issueTo, namespace, leaf, why) => {
    if (why === '') expect(refusedBy(issueTo, namespace, leaf)).toBe('');
    else expect(refusedBy(issueTo, namespace, leaf)).toContain(why);
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
    await converge(world.home, resources, 'default/mesh');
    expect(world.objects.writes).toContain('default/secrets/own');
    expect(world.objects.writes).not.toContain('far/secrets/l');
  });
});
