import { spawnSync } from 'node:child_process';
import { createFilter } from 'vite';
import { expect, test } from 'vitest';
import config from '../vitest.config.ts';

const ROOT = new URL('../', import.meta.url).pathname;

/** The tiers that a test file belongs to. */
const tiers = config.test.projects.map(({ test: { name, include, exclude = [] } }) => ({
  name,
  takes: createFilter(include, exclude, { resolve: ROOT }),
}));
const tiersOf = (path) => tiers.filter(({ takes }) => takes(`${ROOT}${path}`)).map(({ name }) => name);

test('every test file of the repository belongs to a tier, and unit tests to one', () => {
  const { stdout } = spawnSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*.test.*', '*.spec.*'],
    { cwd: ROOT, encoding: 'utf8' },
  );
  const files = stdout.split('\n').filter((path) => path !== '');
  expect(files.length).toBeGreaterThan(300);
  expect(files.filter((path) => tiersOf(path).length === 0)).toEqual([]);
  const twice = files.filter(
    (path) => tiersOf(path).filter((name) => /^(unit|system)/.test(name)).length > 1,
  );
  expect(twice).toEqual([]);
});

test.each([
  ['packages/core/src/plan/plan.test.ts', ['unit']],
  ['packages/runtime/src/trust.test.ts', ['unit-alone']],
  ['packages/runtime/src/process.system.test.ts', ['system']],
  ['packages/core/src/plan/plan.test.tsx', []],
])('%s belongs to the tiers %j', (path, expected) => {
  expect(tiersOf(path)).toEqual(expected);
});
