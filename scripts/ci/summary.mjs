// node scripts/ci/summary.mjs RECORD: the slowest tests and the flaky ones of a run, from the record of test-record.ts. Fails over too many flaky ones.
import { existsSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const SLOWEST = 20;
/** A run with more flaky tests than this is not believed. */
export const MOST_FLAKY = 3;

/** What to print, and whether the run may pass. */
export const summaryOf = (text) => {
  const tests = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const slow = [...tests].sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  const flaky = tests.filter((one) => one.flaky);
  const lines = [`=== the ${slow.length} slowest of ${tests.length} tests`];
  for (const { tier, test, ms } of slow)
    lines.push(`${(ms / 1000).toFixed(1).padStart(7)} s  ${tier}: ${test}`);
  for (const { tier, test } of flaky) lines.push(`flaky: ${tier}: ${test}`);
  if (tests.length === 0) return { lines: [...lines, 'NO_RECORD: no test was recorded'], ok: false };
  const ok = flaky.length <= MOST_FLAKY;
  if (!ok)
    lines.push(
      `TOO_MANY_FLAKY: ${flaky.length} tests passed only at the second try; at most ${MOST_FLAKY} may`,
    );
  return { lines, ok };
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [path = ''] = process.argv.slice(2);
  const { lines, ok } = summaryOf(existsSync(path) ? readFileSync(path, 'utf8') : '');
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = ok ? 0 : 1;
}
