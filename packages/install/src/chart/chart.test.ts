import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPAT } from '@handover/core';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartFiles } from './chart.ts';
import { merge } from './template.ts';
import { conditionOf, TOKENS, type Variant } from './variants.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const CHART = join(ROOT, 'deploy/chart/handover');
const { version } = JSON.parse(readFileSync(join(ROOT, 'packages/cli/package.json'), 'utf8')) as {
  version: string;
};
const made = chartFiles(version);

test('the chart in deploy/ is the one that this source makes; `npm run chart` writes it anew', () => {
  const there = readdirSync(CHART, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(CHART.length + 1));
  expect(there.sort()).toEqual([...made.keys()].sort());
  for (const [path, text] of made)
    expect([path, readFileSync(join(CHART, path), 'utf8')]).toEqual([path, text]);
});

test('the chart has no stand-in for a value left', () => {
  const all = [...made.values()].join('\n');
  for (const token of [...Object.values(TOKENS), '-token']) expect(all).not.toContain(token);
});

test('the chart describes its values, and accepts no others', () => {
  const values = parse(made.get('values.yaml') ?? '') as object;
  const { properties, additionalProperties } = JSON.parse(made.get('values.schema.json') ?? '') as {
    properties: object;
    additionalProperties: boolean;
  };
  expect(additionalProperties).toBe(false);
  expect(Object.keys(properties).filter((name) => name !== 'global')).toEqual(Object.keys(values));
});

test('the namespace, and with it the keys of every CA, is no part of a release; definitions are kept', () => {
  expect([...made.values()].join('\n')).not.toMatch(/^kind: Namespace$/m);
  const definitions = made.get('templates/crds.yaml') ?? '';
  expect(definitions.match(/helm\.sh\/resource-policy: keep/g)).toHaveLength(4);
});

test('the chart fails on a difference between installations that it cannot express, and does not guess', () => {
  const all = [false, true].flatMap((openshift) =>
    COMPAT.map(
      (name): Variant => ({ options: { namespace: 'a', image: 'b', openshift, compat: [name] }, pages: [] }),
    ),
  );
  const [one, two] = all as readonly Variant[] as readonly [Variant, Variant];
  const at = (a: unknown, b: unknown) => () =>
    merge(
      new Map([
        [one, a],
        [two, b],
      ]),
      'here',
    );
  expect(at({ a: 1 }, { a: 2 })).toThrow('here.a differs between installations');
  expect(at({ a: 1 }, ['a'])).toThrow('here differs between installations');
  expect(at({ a: 1, b: 1 }, { b: 1, a: 1 })).toThrow('here comes in more than one order');
  expect(at(['a', 'b'], ['b', 'a'])).toThrow('here comes in more than one order');
  const odd = new Set(all.filter((_, at) => at % 3 === 0));
  expect(() => conditionOf(odd, all, 'this')).toThrow('a chart cannot say when there is this');
});
