import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { project } from './src/project.ts';
import { run } from './src/run.ts';

const { bare, packed } = inject('installed');
const tarball = join(dirname(bare), packed.find(({ name }) => name === '@handover/runtime')?.filename ?? '');
const cwd = project('lint', ['@arethetypeswrong/cli@0.18.5', 'publint@0.3.25']);
const bin = (name: string): string => join(cwd, 'node_modules/.bin', name);

// Ways of TypeScript before node16 are left out: no supported Node needs them.
test('attw finds nothing wrong with the types of the runtime', async () => {
  const { code, stdout } = await run(cwd, bin('attw'), '--profile', 'node16', '--format', 'ascii', tarball);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('@handover/runtime') });
});

test('publint finds nothing wrong with the package.json of the runtime', async () => {
  const { code, stdout } = await run(cwd, bin('publint'), '--strict', tarball);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('All good!') });
});
