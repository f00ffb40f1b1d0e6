import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { authority, leaf, refusal } from '../../test/resources.ts';
import { KINDS, resourceSchemas } from './index.ts';

test.each(KINDS)(
  '%s becomes an OpenAPI schema without unions, with maxima and a description for every field',
  (kind) => {
    const schema = z.toJSONSchema(resourceSchemas[kind], {
      target: 'openapi-3.0',
      io: 'input',
      reused: 'inline',
    });
    const bare: string[] = [];
    const walk = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const it = node as Record<string, unknown>;
      for (const union of ['anyOf', 'oneOf', 'allOf', 'not', '$ref'])
        if (union in it) bare.push(`${path}: ${union}`);
      if (it.type === 'array' && it.maxItems === undefined) bare.push(`${path}: no maxItems`);
      if (it.type === 'string' && it.maxLength === undefined && it.enum === undefined)
        bare.push(`${path}: no maxLength`);
      for (const [name, child] of Object.entries((it.properties as Record<string, unknown>) ?? {})) {
        if ((child as { description?: string }).description === undefined)
          bare.push(`${path}.${name}: no description`);
        walk(child, `${path}.${name}`);
      }
      walk(it.items, `${path}[]`);
    };
    walk((schema.properties as Record<string, unknown>).spec, 'spec');
    expect(bare).toEqual([]);
  },
);

test('a selector has at most 64 labels', () => {
  const labels = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'x']));
  const selecting = (count: number) =>
    authority({ issueTo: { namespaceSelector: { matchLabels: labels(count) } } });
  expect(refusal(selecting(64))).toBe('accepted');
  expect(refusal(selecting(65))).toBe(
    'a.yaml: Authority mesh: spec.issueTo.namespaceSelector.matchLabels: has the wrong length; at most 64 entries allowed',
  );
});

describe('the schema of the API server', () => {
  const { properties } = z.toJSONSchema(resourceSchemas.Leaf, {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
  }) as unknown as { properties: { spec: { properties: Record<string, { items: { pattern: string } }> } } };
  const formOf = (field: string) => new RegExp(properties.spec.properties[field]?.items.pattern ?? '^$');
  const from = (letters: string) =>
    fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 24 });
  test.each([
    ['dnsNames', from('aZ0-_.*')],
    ['ipAddresses', fc.oneof(from('0129.:'), from('0aF:'), fc.ipV4(), fc.ipV6())],
    ['uris', fc.oneof(from("az:/?#[]@!$&'()*+,;=%"), fc.webUrl())],
  ])('the schema of the API server refuses nothing that the parser takes: %s', (field, texts) => {
    const form = formOf(field);
    fc.assert(
      fc.property(texts, (text) => {
        if (refusal(leaf({ [field]: [text] })) === 'accepted') expect(text).toMatch(form);
      }),
      { numRuns: 2000 },
    );
  });
});

test('every rule that joins fields reaches the API server too', () => {
  const ruled: string[] = [];
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const it = node as Record<string, unknown>;
    if ('x-kubernetes-validations' in it) ruled.push(path);
    for (const [name, child] of Object.entries(it.properties ?? {})) walk(child, `${path}.${name}`);
    walk(it.items, `${path}[]`);
  };
  for (const kind of KINDS) {
    const options = { target: 'openapi-3.0', io: 'input', reused: 'inline' } as const;
    walk(z.toJSONSchema(resourceSchemas[kind], options), kind);
  }
  expect(ruled).toEqual([
    'Authority',
    'Authority.spec.adopt',
    'Authority.spec.nameConstraints',
    'Authority.spec.rotation',
    'Authority.spec.bundle.reload',
    'Authority.spec.consumers[]',
    'Authority.spec.consumers[].probe',
    'Authority.spec.consumers[].status',
    'Leaf.spec',
    'Leaf.spec.reload',
    'Leaf.spec.outputs[]',
    'Leaf.spec.outputs[].passwordFrom',
    'TrustBundle.spec.sources[]',
    'TrustBundle.spec.sources[].secret',
    'TrustBundle.spec.sources[].configMap',
    'TrustBundle.spec.sources[].inline',
    'TrustBundle.spec.targets[]',
    'TrustBundle.spec.targets[].configMap',
    'TrustBundle.spec.targets[].configMap.outputs[]',
    'TrustBundle.spec.targets[].configMap.outputs[].passwordFrom',
    'TrustBundle.spec.targets[].secret',
    'TrustBundle.spec.targets[].secret.outputs[]',
    'TrustBundle.spec.targets[].secret.outputs[].passwordFrom',
    'TrustBundle.spec.targets[].clusterTrustBundle',
    'TrustBundle.spec.targets[].inject',
    'TrustBundle.spec.reload',
    'TLSProfile.spec',
  ]);
});
