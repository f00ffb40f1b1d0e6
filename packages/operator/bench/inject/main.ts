import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { cainjectorVersion, findCainjector } from '@handover/test-cluster';
import { contenders, type Name } from './contenders.ts';
import { type Figures, round } from './round.ts';

const { values } = parseArgs({
  options: {
    cli: { type: 'string' },
    webhooks: { type: 'string', default: '1000' },
    crds: { type: 'string', default: '300' },
    drifts: { type: 'string', default: '300' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
});

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;

const ROWS: readonly (readonly [string, (figures: Figures, size: number) => string])[] = [
  ['until all are injected', ({ firstMs }) => seconds(firstMs)],
  ['until a new CA has reached all', ({ changeMs }) => seconds(changeMs)],
  ['drift repaired, p50', ({ driftMs }) => `${percentile(driftMs, 0.5).toFixed(0)} ms`],
  ['drift repaired, p99', ({ driftMs }) => `${percentile(driftMs, 0.99).toFixed(0)} ms`],
  ['drift: the other client’s CA is gone', ({ exact, driftMs }) => `${exact} of ${driftMs.length}`],
  ['RSS at the end', ({ rss }) => megabytes(rss)],
  ['RSS at most', ({ peak }) => megabytes(peak)],
  ['API requests until all are injected', ({ requests }) => String(requests.first)],
  ['API requests for a new CA', ({ requests }) => String(requests.change)],
  ['API requests per drift', ({ requests, driftMs }) => (requests.drift / driftMs.length).toFixed(2)],
  ['API requests in 30 s of rest', ({ requests }) => String(requests.idle)],
  ['processor time until all are injected', ({ cpu }) => `${cpu.first.toFixed(1)} s`],
  ['processor time for a new CA', ({ cpu }) => `${cpu.change.toFixed(1)} s`],
  [
    'processor time per drift',
    ({ cpu, driftMs }) => `${((cpu.drift * 1_000) / driftMs.length).toFixed(1)} ms`,
  ],
  ['processor time in 30 s of rest', ({ cpu }) => `${cpu.idle.toFixed(2)} s`],
  ['API server: processor time until all are injected', ({ server }) => `${server.first.toFixed(1)} s`],
  ['API server: processor time for a new CA', ({ server }) => `${server.change.toFixed(1)} s`],
  [
    'API server: processor time per drift',
    ({ server, driftMs }) => `${((server.drift * 1_000) / driftMs.length).toFixed(0)} ms`,
  ],
  ['load average meanwhile', ({ load }) => load.toFixed(1)],
];

// Ends every process when the benchmark is interrupted.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
// A profile of where Handover spends its time.
const profile = values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', values.profile];
const size = { webhooks: Number(values.webhooks), crds: Number(values.crds) };
const all = contenders([...profile, values.cli ?? ''], await findCainjector(say), cainjectorVersion());
const names = (values.only?.split(',') ?? Object.keys(all)) as Name[];
const measured: (readonly [string, Figures])[] = [];
for (const name of names) {
  const contender = all[name];
  if (contender === undefined)
    throw new TypeError(`unknown contender "${name}"; use ${Object.keys(all).join(', ')}`);
  try {
    const figures = await round(contender, size, Number(values.drifts), (line) =>
      say(`${contender.title}: ${line}`),
    );
    measured.push([contender.title, { ...figures, driftMs: [...figures.driftMs].sort((a, b) => a - b) }]);
    say(`${contender.title}: ${JSON.stringify({ ...figures, driftMs: undefined })}`);
  } catch (error) {
    // The figures of the other contenders still count.
    say(`${contender.title}: failed: ${String(error)}`);
    process.exitCode = 1;
  }
}
const [cpu] = cpus();
if (values.json) process.stdout.write(`${JSON.stringify(Object.fromEntries(measured))}\n`);
else {
  const lines = [
    `${new Date().toISOString().slice(0, 16)}Z, Node ${process.version}, ${cpus().length} cores (${cpu?.model}), load ${(loadavg()[0] ?? 0).toFixed(1)}; ${size.webhooks} webhooks, ${size.crds} CRDs, ${values.drifts} drifts`,
    '',
    `| figure | ${measured.map(([title]) => title).join(' | ')} |`,
    `| --- |${' --- |'.repeat(measured.length)}`,
    ...ROWS.map(
      ([title, show]) =>
        `| ${title} | ${measured.map(([, figures]) => show(figures, size.webhooks + size.crds)).join(' | ')} |`,
    ),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
