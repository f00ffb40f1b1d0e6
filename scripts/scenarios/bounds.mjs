import { readFileSync } from 'node:fs';

/** The time bounds of scenarios: `ms` is the scenario's own, asserted by `npm run bench:scenarios`; tests assert `inTests`. */
export const BOUNDS = JSON.parse(readFileSync(new URL('./bounds.json', import.meta.url), 'utf8'));

export const isSystem = (file) => file.includes('.system.test.');

/** Tests that measure a bounded scenario without pods, so that the bench can run them in minutes. */
export const bounded = (testFiles) =>
  ['packages', 'test']
    .flatMap(testFiles)
    .filter((file) => isSystem(file) || file.includes('/test/cluster/'))
    .filter((file) => readFileSync(file, 'utf8').includes('mustTakeAtMost('))
    .sort();

/** A row for each bounded scenario: how often it was measured, and the slowest. */
export const judge = (times) =>
  Object.entries(BOUNDS).map(([id, { what, ms }]) => {
    const taken = times.filter((time) => time.id === id).map((time) => time.ms);
    const slowest = taken.length === 0 ? undefined : Math.max(...taken);
    return { id, what, ms, count: taken.length, slowest, holds: slowest !== undefined && slowest <= ms };
  });

const seconds = (ms) => `${ms / 1000} s`;

export const table = (rows) =>
  `| scenario | | bound | measured: slowest of | | |\n| --- | --- | --- | --- | --- | --- |\n${rows
    .map(({ id, what, ms, count, slowest, holds }) => {
      const measured = slowest === undefined ? 'not measured' : `${Math.round(slowest)} ms`;
      return `| ${id} | ${what} | ${seconds(ms)} | ${measured} | ${count} | ${holds ? 'ok' : 'MISSED'} |\n`;
    })
    .join('')}`;

/** What docs/scenarios.md says of them. */
export const boundsPart = () => `## Time bounds

Tests of every tier assert a multiple of a scenario's time bound, so that a busy machine passes and a broken path fails. \`npm run bench:scenarios\` asserts the bound itself, on an idle
machine with a real API server, and prints what it measured.

| | what | bound, in the bench | in the tests |
| --- | --- | --- | --- |
${Object.entries(BOUNDS)
  .map(([id, { what, ms, inTests }]) => `| ${id} | ${what} | ${seconds(ms)} | ${seconds(inTests)} |\n`)
  .join('')}`;
