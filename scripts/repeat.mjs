// npm run test:repeat -- 20 [arguments of vitest]: runs the unit tier that often, in random order, and tells every test that was ever red.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [given = '20', ...more] = process.argv.slice(2);
const times = Number(given);
if (!Number.isInteger(times) || times < 1) {
  process.stderr.write('USAGE: npm run test:repeat -- COUNT, such as npm run test:repeat -- 20\n');
  process.exit(2);
}

/** A run that hangs is red. */
const LIMIT_MS = 30 * 60_000;

const folder = mkdtempSync(join(tmpdir(), 'handover-repeat-'));
const red = new Map();
let green = 0;
let slowest = 0;
const runOnce = (number) => {
  const report = join(folder, `${number}.json`);
  // A seed that can be given again: npm test -- --sequence.shuffle --sequence.seed=SEED
  const seed = Date.now();
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--project',
      'unit',
      '--project',
      'unit-alone',
      '--sequence.shuffle',
      `--sequence.seed=${seed}`,
      '--reporter=json',
      `--outputFile=${report}`,
      ...more,
    ],
    { encoding: 'utf8', maxBuffer: 1 << 30, timeout: LIMIT_MS, killSignal: 'SIGKILL' },
  );
  const seconds = (performance.now() - began) / 1000;
  slowest = Math.max(slowest, seconds);
  let failed = [];
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    failed = testResults.flatMap(({ name, status: file, assertionResults }) => {
      const tests = assertionResults
        .filter((one) => one.status !== 'passed')
        .map((one) => `${name} › ${one.fullName}${one.status === 'failed' ? '' : ` (${one.status})`}`);
      return tests.length === 0 && file === 'failed' ? [name] : tests;
    });
  } catch (error) {
    failed = [
      `the run itself: ${error.message}: ${(stderr || stdout).trim().split('\n').slice(-3).join(' | ')}`,
    ];
  }
  if (status !== 0 && failed.length === 0) failed = [`the run itself: exit code ${status}`];
  if (failed.length === 0) green++;
  for (const test of failed) red.set(test, (red.get(test) ?? 0) + 1);
  process.stdout.write(
    `${number}/${times}  ${seconds.toFixed(1)} s  ${failed.length === 0 ? 'green' : `${failed.length} red`}  seed ${seed}\n`,
  );
  for (const test of failed) process.stdout.write(`      red: ${test}\n`);
};
try {
  for (let number = 1; number <= times; number++) runOnce(number);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`\n${green} of ${times} green; slowest run ${slowest.toFixed(1)} s\n`);
for (const [test, count] of [...red].sort((a, b) => b[1] - a[1]))
  process.stdout.write(`red ${count} times: ${test}\n`);
process.exitCode = green === times ? 0 : 1;
