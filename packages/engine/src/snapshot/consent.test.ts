import { expect, test } from 'vitest';
import { catalogue } from '../../test/world.ts';
import { consentIn } from '../index.ts';

/** One resource that consents, and one that does not. */
const both = (kind: string, names: readonly [string, string], spec: (name: string) => string): string =>
  names
    .map((name, index) => {
      const annotations = index === 0 ? ', annotations: {handover.dev/adopt: "true"}' : '';
      return `---\napiVersion: handover.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}${annotations}}\nspec: {${spec(name)}}\n`;
    })
    .join('');

test('consent covers the objects of the resources that give it, and no others', () => {
  const resources = catalogue(
    both('Authority', ['asks', 'silent'], () => '') +
      both('Leaf', ['a', 'b'], (name) => `authority: silent, dnsNames: [${name}.local]`) +
      both(
        'TrustBundle',
        ['c', 'd'],
        (name) =>
          `sources: [{authority: default/silent}], targets: [{configMap: {name: ${name}}}, {secret: {name: ${name}-secret}}]`,
      ) +
      both('TLSProfile', ['e', 'f'], (name) => `type: Modern, configMapName: ${name}`) +
      // Any other word is no consent.
      both('Leaf', ['g', 'h'], (name) => `authority: asks, dnsNames: [${name}.local]`).replace(
        '"true"',
        '"yes"',
      ),
  );
  expect([...consentIn(resources)].sort()).toEqual([
    'default/configmaps/asks-trust/ca.crt',
    'default/configmaps/c/ca.crt',
    'default/configmaps/e/profile.json',
    'default/secrets/a',
    'default/secrets/c-secret/ca.crt',
  ]);
});
