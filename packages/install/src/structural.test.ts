import { KINDS, statusSchemas } from '@handover/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { crds } from './crds.ts';
import { inputSchema, type Structural, structural } from './structural.ts';

const every = (node: Structural, path: string): readonly (readonly [string, Structural])[] => [
  [path, node],
  ...Object.entries(node.properties ?? {}).flatMap(([name, child]) => every(child, `${path}.${name}`)),
  ...(node.items === undefined ? [] : every(node.items, `${path}[]`)),
  ...(node.additionalProperties === undefined ? [] : every(node.additionalProperties, `${path}[*]`)),
];
const schemas = crds().map((crd) => {
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error('no schema');
  return [crd.spec.names.kind, every(schema, crd.spec.names.kind)] as const;
});

test('every kind has a CRD', () => {
  expect(schemas.map(([kind]) => kind)).toEqual(KINDS);
});

test.each(schemas)(
  'the CRD of %s has a type in every place, and no union, reference, default or closed map',
  (_, nodes) => {
    const bad = nodes.filter(
      ([, node]) =>
        typeof node.type !== 'string' ||
        ['anyOf', 'oneOf', 'allOf', 'not', '$ref', 'default', '$schema'].some((keyword) => keyword in node) ||
        (node.properties !== undefined && 'additionalProperties' in node),
    );
    expect(bad.map(([path]) => path)).toEqual([]);
  },
);

test.each(schemas)(
  'the CRD of %s says how every list merges, and has a maximum for every list, map and string',
  (_, nodes) => {
    const bad = nodes.filter(([path, node]) => {
      if (/\.(apiVersion|kind|metadata)$/.test(path)) return false;
      if (node.type === 'array') return !('x-kubernetes-list-type' in node) || !('maxItems' in node);
      if (node.type === 'string') return !('maxLength' in node) && !('enum' in node);
      return node.additionalProperties !== undefined && !('maxProperties' in node);
    });
    expect(bad.map(([path]) => path)).toEqual([]);
  },
);

test('a default is described in words in a CRD, and filled in by the reader of the resource', () => {
  const [, nodes] = schemas[0] ?? ['', []];
  const of = (path: string) => nodes.find(([at]) => at === `Authority.spec.${path}`)?.[1];
  expect(of('rotation.reloadWithin')?.description).toMatch(/ Default: 3m\.$/);
  expect(of('rotation.at')?.description).toMatch(/ Default: 80%\.$/);
  expect(of('rotation')?.description).not.toContain('Default');
  expect(of('rotation.reloadWithin')).not.toHaveProperty('default');
});

test.each<[string, z.ZodType, string]>([
  ['a union', z.union([z.string(), z.boolean()]).describe('x'), 'x: has no type'],
  ['anything at all', z.unknown().describe('x'), 'x: has no type'],
  ['a field without a word', z.strictObject({ a: z.string() }).describe('x'), 'x.a: has no description'],
  [
    'a form that is not handled',
    z.string().describe('x').meta({ contentEncoding: 'base64' }),
    'x: has contentEncoding',
  ],
])('a schema with %s is refused with its place', (_, schema, message) => {
  expect(() => structural(inputSchema(schema), 'x')).toThrow(message);
});

test('a pattern in a schema becomes a rule in words, unless it would have to be tried in too many places', () => {
  const text = () =>
    z
      .string()
      .max(63)
      .regex(/^[a-z]+$/)
      .meta({ 'x-handover-form': 'is not a word; use letters' });
  const list = (most: number) => z.array(text()).max(most).describe('x');
  const rules = [{ rule: 'self.matches("^[a-z]+$")', message: 'is not a word; use letters' }];
  const few = structural(inputSchema(list(100)), 'x').items;
  expect(few).toEqual({ type: 'string', maxLength: 63, 'x-kubernetes-validations': rules });
  const many = structural(inputSchema(list(100_000)), 'x').items;
  expect(many).toEqual({ type: 'string', maxLength: 63, pattern: '^[a-z]+$' });
});

test.each(KINDS)('the schema of a %s gives the same bytes each time', (kind) => {
  const made = (): string =>
    JSON.stringify(structural({ ...inputSchema(statusSchemas[kind]), description: 'Of a test.' }, kind));
  expect(made()).toBe(made());
});
