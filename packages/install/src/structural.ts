import { isMap, type Json } from '@handover/material';
import { z } from 'zod';
import { InstallError } from './error.ts';

/** A structural schema as CustomResourceDefinitions take it. */
export interface Structural {
  readonly [keyword: string]: unknown;
  readonly type: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Structural>>;
  readonly items?: Structural;
  readonly additionalProperties?: Structural;
}

// Unions hide types, references need a place to point to: neither is structural.
const FORBIDDEN = ['anyOf', 'oneOf', 'allOf', 'not', '$ref', 'const', 'patternProperties'] as const;
/** In this order, so that the same schema is the same YAML. */
const KEPT = [
  'description',
  'type',
  'format',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'maxProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
  'required',
] as const;
/** Core's words for a pattern. */
const FORM = 'x-handover-form';
const HANDLED = [...KEPT, FORM, '$schema', 'properties', 'items', 'additionalProperties', 'default'] as const;

const refuse = (path: string, why: string): never => {
  throw new InstallError('SCHEMA_NOT_STRUCTURAL', `${path}: ${why}; change the schema in core/resources`, {
    path,
  });
};

/** Each home fills in defaults when it reads a resource; `kubectl explain` says them in words. */
const described = (node: Json, path: string): string => {
  const { description, default: preset } = node;
  if (typeof description !== 'string') return refuse(path, 'has no description');
  if (preset === undefined || description.includes('Default')) return description;
  if (Array.isArray(preset)) {
    return preset.length === 0 ? description : `${description} Default: ${preset.join(', ')}.`;
  }
  return typeof preset === 'object' ? description : `${description} Default: ${String(preset)}.`;
};

const atMost = (max: unknown): number => (typeof max === 'number' ? max : Number.POSITIVE_INFINITY);

/** Half of what the API server allows one rule to cost (StaticEstimatedCostLimit in apiextensions-apiserver). */
const MOST_COST = 5_000_000;

/**
 * A pattern as a rule with a message: `should match '^([0-9]{1,9}y)?…'` helps no user. Where a rule would cost too much, by the API
 * server's own way of estimating (a tenth of the text in bytes, four to a character, times a quarter of the expression, for every
 * place), the pattern stays.
 */
const worded = (node: Json, places: number): Json => {
  const { pattern, maxLength, [FORM]: message, ...rest } = node;
  if (typeof pattern !== 'string' || typeof message !== 'string' || typeof maxLength !== 'number')
    return node;
  const cost = Math.ceil((maxLength * 4) / 10) * Math.ceil(pattern.length / 4) * places;
  if (cost > MOST_COST) return { ...rest, pattern, maxLength };
  const rules = (node['x-kubernetes-validations'] ?? []) as readonly unknown[];
  const rule = { rule: `self.matches(${JSON.stringify(pattern)})`, message };
  return { ...rest, maxLength, 'x-kubernetes-validations': [rule, ...rules] };
};

const structuralOf = (
  given: unknown,
  path: string,
  needsDescription: boolean,
  places: number,
): Structural => {
  const node = isMap(given) ? worded(given, places) : given;
  if (!isMap(node)) return refuse(path, 'is not a schema');
  const { type } = node;
  if (typeof type !== 'string') return refuse(path, 'has no type');
  for (const keyword of FORBIDDEN) if (keyword in node) return refuse(path, `has ${keyword}`);
  const stray = Object.keys(node).find((keyword) => !HANDLED.some((known) => known === keyword));
  if (stray !== undefined) return refuse(path, `has ${stray}, which is not handled here`);
  const made: Record<string, unknown> = {};
  for (const keyword of KEPT) if (node[keyword] !== undefined) made[keyword] = node[keyword];
  if (needsDescription || node.description !== undefined) made.description = described(node, path);
  if (type === 'array') {
    // A list without keys belongs to one applier.
    made['x-kubernetes-list-type'] ??= 'atomic';
    made.items = structuralOf(node.items, `${path}[]`, false, places * atMost(node.maxItems));
  }
  if (isMap(node.properties)) {
    // Beside properties the API server refuses it, and does the same by itself: it prunes, or says `unknown field`.
    if (node.additionalProperties !== undefined && node.additionalProperties !== false)
      return refuse(path, 'has both fields and a map');
    made.properties = Object.fromEntries(
      Object.entries(node.properties).map(([name, child]) => [
        name,
        structuralOf(child, `${path}.${name}`, true, places),
      ]),
    );
  } else if (isMap(node.additionalProperties)) {
    const inside = places * atMost(node.maxProperties);
    made.additionalProperties = structuralOf(node.additionalProperties, `${path}[*]`, false, inside);
  }
  return made as Structural;
};

/** What JSON Schema says about values before parsing. */
export const inputSchema = (schema: z.ZodType): Json =>
  z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline' }) as Json;

/** A structural schema from a JSON Schema, or a refusal that names the place. */
export const structural = (node: unknown, path: string): Structural => structuralOf(node, path, true, 1);
