import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { project } from './src/project.ts';
import { run } from './src/run.ts';

const { bare, packed } = inject('installed');
const tarball = join(dirname(bare), packed.find(({ name }) => name === '@handover/runtime')?.filename ?? '');
const cwd = project('lint', ['@arethetypeswrong/cli@0.18.5', 'publint@0.3.25']);
const bin = (name: string): string => join(cwd, 'node_modules/.bin', name);

// Ways of TypeScript before node16 are left out: no supported Node needs them. `register` awaits, and so is for `import` alone.
test.each([
  ['what can be imported and required', ['--profile', 'node16', '--exclude-entrypoints', 'register']],
  ['what can only be imported', ['--profile', 'esm-only', '--entrypoints', 'register']],
])('attw finds nothing wrong with the types of the runtime: %s', async (_, ways) => {
  const { code, stdout } = await run(cwd, bin('attw'), '--format', 'ascii', tarball, ...ways);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('@handover/runtime') });
});

test('publint finds nothing wrong with the package.json of the runtime', async () => {
  const { code, stdout } = await run(cwd, bin('publint'), '--strict', tarball);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('All good!') });
});
