import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { project } from './src/project.ts';
import { start } from './src/run.ts';
import { cas, Files, WORLD } from './src/world.ts';

/** A test of a user's program. Nothing moves the clock. */
const body = (load: string): string => `
  const { openTrust } = ${load};
  const { renameSync, writeFileSync } = await import('node:fs');
  const file = process.env.CA_FILE;
  const trust = await openTrust(file);
  const reloaded = new Promise((resolve) => trust.once('reloaded', resolve));
  writeFileSync(file + '.tmp', JSON.parse(process.env.WORLD).cas[1]);
  renameSync(file + '.tmp', file);
  const { loads } = await reloaded;
  await trust.close();
  if (loads !== 2) throw new Error('loads ' + loads);
`;
const IMPORT = "await import('@handover/runtime')";
const REQUIRE = "require('@handover/runtime')";
const inTest = (load: string) => `test('follows', async () => {${body(load)}}, 30_000);`;

const RUNNERS = {
  'vitest, before the import': {
    file: 'import.test.mjs',
    text: `import { test, vi } from 'vitest'; vi.useFakeTimers(); ${inTest(IMPORT)}`,
    command: ['node_modules/vitest/vitest.mjs', 'run', 'import.test.mjs'],
  },
  'Jest, before require() of the CommonJS copy': {
    file: 'require.test.cjs',
    text: `jest.useFakeTimers(); ${inTest(REQUIRE).replace(/await import\('node:fs'\)/, "require('node:fs')")}`,
    command: ['node_modules/jest/bin/jest.js', '--testMatch', '**/require.test.cjs'],
  },
  // Its mocks reach the module node:timers too, unless that has been loaded: README says which comes first.
  'node:test, after the import': {
    file: 'node-test.mjs',
    text: `import { mock, test } from 'node:test'; import '@handover/runtime'; mock.timers.enable();
      const { port1 } = new MessageChannel(); port1.on('message', () => undefined);
      test('follows', async () => {${body(IMPORT)} port1.close(); });`,
    command: ['--test', 'node-test.mjs'],
  },
} as const;

test.each(Object.keys(RUNNERS) as (keyof typeof RUNNERS)[])(
  'fake timers do not stop reloads: %s',
  async (name) => {
    const cwd = project('runners', ['jest@30.5.2', 'vitest@4.1.12']);
    const { file, text, command } = RUNNERS[name];
    writeFileSync(join(cwd, file), text);
    const env = { ...WORLD, CA_FILE: new Files(cwd, cas[0].pem).path('ca.crt'), NO_COLOR: '1' };
    const { code, stdout, stderr } = await start(cwd, process.execPath, command, env).ended;
    expect({ code, said: stdout + stderr }).toMatchObject({
      code: 0,
      said: expect.stringMatching(/Tests:? +1 passed|pass 1\n/),
    });
  },
);
