import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
/** Every file, and every folder above it. */
const paths = new Set(files.split('\n').flatMap((file) => [file, ...above(file)]));

function above(file) {
  const parent = dirname(file);
  return parent === '.' ? [] : [parent, ...above(parent)];
}

const exists = (path) => {
  if (!/[*]/.test(path)) return paths.has(path);
  const glob = new RegExp(`^${path.replace(/[.]/g, '\\.').replaceAll('*', '[^/]*')}$`);
  return [...paths].some((each) => glob.test(each));
};

/** `a/{b,c}.ts` is `a/b.ts` and `a/c.ts`. */
const expanded = (path) => {
  const [, before, inner, behind] = /^(.*?)\{([^}]*)\}(.*)$/.exec(path) ?? [];
  return inner === undefined
    ? [path]
    : inner.split(',').flatMap((each) => expanded(`${before}${each}${behind}`));
};

/** Paths of a document that do not exist. A path begins at the root, in packages/, or beside the path that was named before it. */
const missingIn = (text) => {
  const missing = [];
  for (const line of text.split(/\n(?=[-|\d]|\n)/)) {
    const row = /^\| `(\w+)` /.exec(line)?.[1];
    let bases = ['', 'packages/', 'packages/*/', 'docs/decisions/', ...(row ? [`packages/${row}/src/`] : [])];
    for (const [, token] of line.matchAll(/`([\w./*{},-]+)`/g)) {
      const isPath = /[\w}*]\/|^\d{4}\*$|[\w}]\.(ts|mjs|md|json)$/.test(token) && !token.includes('dist/');
      if (!isPath) continue;
      for (const path of expanded(token).map((each) => each.replace(/\/$/, ''))) {
        const base = bases.find((each) => exists(each + path));
        if (base === undefined) missing.push(path);
        else bases = [...bases, ...above(base + path).map((each) => `${each}/`)];
      }
    }
  }
  return missing;
};

/** Functions of a walk that are not in the file any more: `npm run walks` counts again. */
const strangersIn = (walks) =>
  [...walks.matchAll(/^\| `([\w/.-]+\.ts)` \| (.+) \|$/gm)].flatMap(([, file, names]) => {
    const source = readFileSync(`packages/${file}`, 'utf8');
    return [...names.matchAll(/`(?:[\w.]+[. ])?(#?\w+)`/g)].flatMap(([, name]) =>
      source.includes(name) ? [] : [`${file} ${name}`],
    );
  });

test.each(['ARCHITECTURE.md', 'AGENTS.md', 'docs/architecture/walks.md'])(
  'every path that %s names exists',
  (document) => {
    expect(missingIn(readFileSync(document, 'utf8'))).toEqual([]);
  },
);

test('a path in a document that does not exist is found', () => {
  expect(missingIn('| `packages/core/src/{pem,index}.ts`, `gone/`, `0001*`, `9999*` |')).toEqual([
    'packages/core/src/pem.ts',
    'gone',
    '9999*',
  ]);
});

test('every function that a walk names is in the file named with it', () => {
  const walks = readFileSync('docs/architecture/walks.md', 'utf8');
  expect(walks.match(/^\| `/gm)?.length).toBeGreaterThan(200);
  expect(strangersIn(walks)).toEqual([]);
  expect(strangersIn('| `core/src/plan/plan.ts` | `plan` `Plan.gone` |')).toEqual([
    'core/src/plan/plan.ts gone',
  ]);
});
