// npm run check: types, lint and format, the layer rule, real time, the length of files, the lock, that each scenario has a test, and each rule of the
// planner its assumption.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problems as assumptions } from './assumptions.mjs';
import { ARROWS, problemsIn } from './layers.mjs';
import { problemsInLock } from './lock.mjs';
import { idleExceptions, realTimeIn } from './real-time.mjs';
import { collect, page, problems } from './scenarios/scenarios.mjs';

let failed = false;
const step = (name, ok) => {
  process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${name}\n`);
  if (!ok) failed = true;
};
const run = (name, command, args) =>
  step(name, spawnSync(join('node_modules', '.bin', command), args, { stdio: 'inherit' }).status === 0);

const sources = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = `${dir}/${entry.name}`;
    if (entry.isDirectory()) return ['dist', 'node_modules'].includes(entry.name) ? [] : sources(path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });

run('types', 'tsc', ['-p', 'tsconfig.check.json']);
run('types of the page', 'tsc', ['-p', 'packages/dashboard/page/tsconfig.json']);
run('lint and format', 'biome', ['ci', '--error-on-warnings', '.']);

let broken = 0;
for (const layer of readdirSync('packages')) {
  if (!(layer in ARROWS)) {
    process.stdout.write(`packages/${layer}: not a layer of the design\n`);
    broken++;
  }
  for (const path of sources(`packages/${layer}`)) {
    for (const { line, message } of problemsIn(layer, path, readFileSync(path, 'utf8'))) {
      process.stdout.write(`${path}:${line}: ${message}\n`);
      broken++;
    }
  }
}
step('layers', broken === 0);

const real = [...readdirSync('packages').map((name) => `packages/${name}/src`), 'test/api-server/src']
  .flatMap(sources)
  .flatMap((path) =>
    realTimeIn(path, readFileSync(path, 'utf8')).map(({ line, message }) => `${path}:${line}: ${message}`),
  );
for (const path of idleExceptions((path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)))
  real.push(`scripts/real-time.mjs: ${path} needs no exception`);
for (const problem of real) process.stdout.write(`${problem}\n`);
step('real time', real.length === 0);

const long = readdirSync('packages')
  .flatMap((name) => sources(`packages/${name}/src`))
  .filter((path) => !path.includes('.test.') && readFileSync(path, 'utf8').split('\n').length > 501);
for (const path of long) process.stdout.write(`${path}: more than 500 lines\n`);
step('length', long.length === 0);

const unlocked = problemsInLock(JSON.parse(readFileSync('package-lock.json', 'utf8')));
for (const problem of unlocked) process.stdout.write(`package-lock.json: ${problem}\n`);
step('lock', unlocked.length === 0);

const tests = collect();
const unproved = problems(tests);
if (unproved.length === 0 && readFileSync('docs/scenarios.md', 'utf8') !== page(tests))
  unproved.push('docs/scenarios.md is stale: npm run generate');
for (const problem of unproved) process.stdout.write(`${problem}\n`);
step('scenarios', unproved.length === 0);

const unfounded = assumptions();
for (const problem of unfounded) process.stdout.write(`${problem}\n`);
step('assumptions', unfounded.length === 0);
process.exitCode = failed ? 1 : 0;
