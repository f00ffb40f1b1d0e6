import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
// Below the repository, where vitest is found; its own configuration keeps it from the repository's.
mkdirSync(join(root, 'build'), { recursive: true });
const folder = mkdtempSync(join(root, 'build/no-skips-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(
  join(folder, 'vitest.config.mjs'),
  `import { NoSkips } from '${root}scripts/ci/no-skips.ts';
export default { test: { include: ['*.test.mjs'], reporters: ['default', new NoSkips()] } };`,
);

/** Runs these tests with the reporter of CI: the exit code, and what was said. */
const run = (tests, ...more) =>
  new Promise((resolve) => {
    writeFileSync(join(folder, 'a.test.mjs'), `import { describe, test } from 'vitest';\n${tests}`);
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const args = [vitest, 'run', '--root', folder, ...more];
    const child = spawn(process.execPath, args, { cwd: folder });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        said += chunk;
      });
    child.once('close', (code) => resolve({ code, said }));
  });

test('a skipped test fails the run, and is named', async () => {
  const { code, said } = await run(
    "test('runs', () => {}); describe.skipIf(true)('a node', () => { test('starts', () => {}); }); test('gives up', ({ skip }) => skip());",
  );
  expect(code).toBe(1);
  expect(said).toContain('SKIPPED_IN_CI');
  expect(said).toContain('a.test.mjs: a node > starts\n');
  expect(said).toContain('a.test.mjs: gives up\n');
});

test('a run without skipped tests passes, and so does one that a name selects from', async () => {
  const tests = "test('runs', () => {}); test('runs too', () => {});";
  expect(await run(tests)).toMatchObject({ code: 0 });
  expect(await run(tests, '-t', 'too')).toMatchObject({ code: 0 });
});
