import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, textOf } from './documents.ts';
import { anchorsOf, linksOf } from './markdown.ts';

const files = (folder = ''): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return /^(\..*|node_modules|dist|build)$/.test(entry.name) ? [] : files(path);
  });
const FILES = files();

test.each(FILES.filter((name) => name.endsWith('.md')))(
  'every relative link in %s leads somewhere',
  (name) => {
    const dead = linksOf(textOf(name)).filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? name : join(dirname(name), path);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(textOf(target)).includes(anchor);
    });
    expect(dead).toEqual([]);
  },
);

test('every decision named by its number exists', () => {
  const numbers = readdirSync(`${ROOT}docs/decisions`).map((name) => name.slice(0, 4));
  const dead = FILES.filter((name) => /\.(md|tsx?|mjs|ya?ml)$/.test(name)).flatMap((name) =>
    [...textOf(name).matchAll(/decisions\/(\d{4})/g)]
      .filter(([, number = '']) => !numbers.includes(number))
      .map(([found]) => `${name}: ${found}`),
  );
  expect(dead).toEqual([]);
});

test('an anchor is made from a heading as GitHub does it', () => {
  expect(anchorsOf("# Who? A `b`: c's\n```sh\n# no heading\n```\n## Two words")).toEqual([
    'who-a-b-cs',
    'two-words',
  ]);
});
