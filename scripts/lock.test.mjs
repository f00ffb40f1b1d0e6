import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { problemsInLock } from './lock.mjs';

const INTEGRITY = `sha512-${'a'.repeat(86)}==`;
const lock = (packages) => ({ packages: { '': { name: 'root' }, ...packages } });
const good = { version: '1.0.0', integrity: INTEGRITY };

test('the lock of this repository has a hash for every package', () => {
  expect(problemsInLock(JSON.parse(readFileSync('package-lock.json', 'utf8')))).toEqual([]);
});

test('packages of a registry and of the workspace are accepted', () => {
  expect(
    problemsInLock(
      lock({
        'packages/core': { version: '0.1.0' },
        'node_modules/@handover/core': { resolved: 'packages/core', link: true },
        'node_modules/a': { ...good, resolved: 'https://registry.example/a/-/a-1.0.0.tgz' },
        'node_modules/b': { ...good, optionalDependencies: { a: '1.0.0', c: '1.0.0' } },
        'node_modules/b/node_modules/c': good,
        'node_modules/esbuild': { ...good, hasInstallScript: true },
      }),
    ),
  ).toEqual([]);
});

test.each([
  ['without a hash', { version: '1.0.0' }, /^a: no sha512 integrity/],
  [
    'with a weak hash',
    { ...good, integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
    /^a: no sha512 integrity/,
  ],
  [
    'from a plain-text address',
    { ...good, resolved: 'http://registry.example/a.tgz' },
    /^a: comes from http:/,
  ],
  ['from a repository', { ...good, resolved: 'git+ssh://git@example.com/a.git#1' }, /^a: comes from git/],
  ['with a script', { ...good, hasInstallScript: true }, /^a: has an install script/],
  ['with a platform left out', { ...good, optionalDependencies: { b: '1' } }, /^b: missing/],
])('a package %s is refused', (_, entry, says) => {
  expect(problemsInLock(lock({ 'node_modules/a': entry }))).toEqual([expect.stringMatching(says)]);
});

test('.ci/run and the image install without running install scripts', () => {
  expect(readFileSync('.ci/run', 'utf8')).toMatch(/^step npm ci --ignore-scripts\nstep npm run build\n/m);
  expect(readFileSync('deploy/image/Dockerfile', 'utf8')).toContain('RUN npm ci --ignore-scripts\n');
});
