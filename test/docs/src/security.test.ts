import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ROOT, textOf } from './documents.ts';

/** Where the tests of each table of SECURITY.md lie, if their names have no path. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'attack of one namespace on another': readdirSync(`${ROOT}packages`).map((name) => `${name}/test/cluster`),
  'attack on one machine': [
    'engine/src/directory',
    ...readdirSync(`${ROOT}packages/engine/src/directory`).map((name) => `engine/src/directory/${name}`),
    'cli/src',
  ],
};

interface Row {
  readonly table: string;
  readonly attack: string;
  readonly names: readonly string[];
}

const rows = (): readonly Row[] => {
  let table = '';
  return textOf('SECURITY.md')
    .split('\n')
    .flatMap((line) => {
      const cells = line.split(' | ');
      const [first = ''] = cells.map((cell) => cell.replace(/^\| */, ''));
      if (!line.startsWith('|')) table = '';
      else if (table === '') table = first;
      else if (table in FOLDERS && !first.startsWith('---'))
        return [
          {
            table,
            attack: first,
            names: [...(cells.at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
          },
        ];
      return [];
    });
};

const exists = (table: string, name: string): boolean => {
  const places = name.includes('/') ? [name] : (FOLDERS[table] ?? []).map((folder) => `${folder}/${name}`);
  return places.some((place) =>
    ['.test.ts', '.system.test.ts'].some((ending) => existsSync(`${ROOT}packages/${place}${ending}`)),
  );
};

test('SECURITY.md has both tables of attacks', () => {
  expect([...new Set(rows().map(({ table }) => table))]).toEqual(Object.keys(FOLDERS));
});

test.each(rows())('SECURITY.md names tests that exist against this attack: $attack', ({ table, names }) => {
  expect(names).not.toEqual([]);
  expect(names.filter((name) => !exists(table, name))).toEqual([]);
});
