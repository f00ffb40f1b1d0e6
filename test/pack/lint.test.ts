import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { project } from './src/project.ts';
import { run } from './src/run.ts';

const { bare, packed } = inject('installed');
const tarballOf = (one: string): string =>
  join(dirname(bare), packed.find(({ name }) => name === one)?.filename ?? '');
const cwd = project('lint', ['@arethetypeswrong/cli@0.18.5', 'publint@0.3.25']);
const bin = (name: string): string => join(cwd, 'node_modules/.bin', name);

// Ways of TypeScript before node16 are left out: no supported Node needs them. `register` awaits, and so is for `import` alone.
// `handover` is one ES module; `require` loads it on every supported Node.
test.each([
  [
    '@handover/runtime',
    'what can be imported and required',
    ['--profile', 'node16', '--exclude-entrypoints', 'register'],
  ],
  ['@handover/runtime', 'what can only be imported', ['--profile', 'esm-only', '--entrypoints', 'register']],
  ['handover', 'all of it', ['--profile', 'esm-only']],
])('attw finds nothing wrong with the types of %s: %s', async (name, _, ways) => {
  const { code, stdout } = await run(cwd, bin('attw'), '--format', 'ascii', tarballOf(name), ...ways);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(name) });
});

test.each(packed)('publint finds nothing wrong with the package.json of $name', async ({ name }) => {
  const { code, stdout } = await run(cwd, bin('publint'), '--strict', tarballOf(name));
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('All good!') });
});
