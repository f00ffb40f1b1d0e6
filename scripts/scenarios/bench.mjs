// npm run bench:scenarios: runs the tests of scenarios with a time bound, and asserts the bound to the letter. For an idle machine.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { BOUNDS, bounded, isSystem, judge, table } from './bounds.mjs';
import { testFiles } from './scenarios.mjs';

const folder = mkdtempSync(join(tmpdir(), 'handover-bench-'));
const record = join(folder, 'times.jsonl');
const load = loadavg()[0] ?? 0;
const named = `(${Object.keys(BOUNDS)
  .map((id) => id.replace('.', '\\.'))
  .join('|')})(?!\\d)`;

/** One file at a time, so that no test measures what another costs. */
const run = (tier, files) =>
  spawnSync('npx', ['vitest', 'run', '--project', tier, '--maxWorkers', '1', '-t', named, ...files], {
    stdio: 'inherit',
    env: { ...process.env, HANDOVER_SCENARIO_TIMES: record },
  }).status === 0;
const files = bounded(testFiles);
const isGreen = [
  run('system', files.filter(isSystem)),
  run(
    'cluster',
    files.filter((file) => !isSystem(file)),
  ),
].every(Boolean);

// Without a record no test has come so far as to measure.
const lines = existsSync(record) ? readFileSync(record, 'utf8').split('\n').filter(Boolean) : [];
rmSync(folder, { recursive: true });
const rows = judge(lines.map((line) => JSON.parse(line)));
const missed = rows.filter(({ holds }) => !holds).length;
console.log(
  `\nNode ${process.version}, ${cpus().length} cores, load ${load.toFixed(1)} at the start\n\n${table(rows)}`,
);
console.log(missed === 0 ? 'all bounds hold' : `${missed} missed`);
if (missed > 0 && load > 1) console.log('The machine was not idle at the start: run again when it is.');
process.exitCode = isGreen && missed === 0 ? 0 : 1;
