import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { type Figure, holds, row } from './figures.ts';
import { handshakes } from './handshakes.ts';
import { importCost } from './import-cost.ts';
import { kube } from './kube.ts';
import { soak } from './soak.ts';
import { startup } from './startup.ts';
import { swaps } from './swaps.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    write: { type: 'string' },
  },
});

const PARTS: Readonly<Record<string, () => Promise<Figure[]> | Figure[]>> = {
  import: importCost,
  startup,
  handshakes,
  swaps,
  kube,
  soak: () => soak(Number(values.seconds)),
};

process.on('unhandledRejection', (error) => {
  console.error('unhandled rejection', error);
  process.exit(1);
});

const head = '| figure | measured | bound | | |\n|---|---|---|---|---|';
console.log(head);
const figures: Figure[] = [];
for (const [name, part] of Object.entries(PARTS)) {
  if (values.only !== undefined && !values.only.split(',').includes(name)) continue;
  for (const figure of await part()) {
    figures.push(figure);
    console.log(row(figure));
  }
}
const missed = figures.filter((figure) => !holds(figure));
console.log(missed.length === 0 ? '\nall bounds hold' : `\n${missed.length} missed`);
if (values.write !== undefined) {
  // what people wrote below the figures stays
  const before = existsSync(values.write) ? readFileSync(values.write, 'utf8') : '';
  const history = before.includes('\n## History') ? before.slice(before.indexOf('\n## History')) : '';
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(
    values.write,
    `# Runtime: measured figures

${day}, Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), loopback.
Command: \`npm run bench -w packages/runtime\` (exit 1 when a bound is missed).
Ratios are medians of 5 runs; within a run both sides take turns, and each side's rate is the upper quartile of its turns.
Handshakes are counted per second of processor time: the machine is shared, and a neighbour on its two cores moves the clock
by more than the 5 % in question.

${head}
${figures.map(row).join('\n')}
${history}`,
  );
}
process.exit(missed.length === 0 ? 0 : 1);
