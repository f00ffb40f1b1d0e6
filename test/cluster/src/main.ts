// npm run cluster -- up [--size node] [--name NAME] | down [--name NAME] | status
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HandoverError } from '@handover/material';
import type { Size } from './api.ts';
import { clearAway, clearAwayOrphans } from './clear-away.ts';
import { startCluster } from './cluster.ts';
import { places } from './places.ts';
import { isAlive, signalIfAlive } from './process-id.ts';
import { until } from './ready.ts';
import { readRecords } from './record.ts';

const USAGE = `npm run cluster -- up [--size control-plane|node] [--name NAME]   a Kubernetes that stays until "down"
npm run cluster -- down [--name NAME]                             ends it and clears away
npm run cluster -- status                                         what runs, of tests too`;

const SIZES: readonly string[] = ['control-plane', 'node'] satisfies Size[];
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const seconds = (since: number): string => `${((Date.now() - since) / 1_000).toFixed(1)} s`;

const named = (name: string) =>
  readRecords(places().records).find(({ record }) => record.name === name && isAlive(record.keeper));

const up = async (name: string, size: Size): Promise<void> => {
  const there = named(name);
  if (there !== undefined) {
    throw new HandoverError(
      'CLUSTER_UP_ALREADY',
      `${name} is up at ${there.record.url}; npm run cluster -- down ends it`,
    );
  }
  const begun = Date.now();
  const cluster = await startCluster({ name, size, say, controllerManager: true, scheduler: true });
  say(`${name} is up after ${seconds(begun)} at ${cluster.url}; logs are in ${cluster.directory}`);
  say(`export KUBECONFIG=${cluster.kubeconfig}`);
};

const down = async (name: string): Promise<void> => {
  await clearAwayOrphans(places().records);
  const there = named(name);
  if (there === undefined) return say(`${name} is not up`);
  const begun = Date.now();
  signalIfAlive(there.record.keeper, 'SIGTERM');
  await until(async () => !isAlive(there.record.keeper), {
    what: `${name} down`,
    directory: there.record.directory,
    timeoutMs: 60_000,
  });
  // Only needed if the keeper failed.
  if (readRecords(places().records).some(({ path }) => path === there.path)) await clearAway(there.record);
  say(`${name} is down after ${seconds(begun)}`);
};

const status = (): void => {
  const records = readRecords(places().records);
  if (records.length === 0) say('no cluster is up');
  for (const { record } of records) {
    const whose = record.name === '' ? 'of a test' : `named ${record.name}`;
    const alive = isAlive(record.keeper) ? 'up' : 'left behind; the next start or down clears it away';
    say(
      `${record.size}, ${whose}: ${alive}, ${record.url}, kubeconfig ${join(record.directory, 'kubeconfig')}`,
    );
    for (const each of record.processes) {
      say(`  ${each.name.padEnd(24)} pid ${each.pid} ${isAlive(each) ? '' : '(ended)'}`.trimEnd());
    }
  }
};

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      size: { type: 'string', default: 'control-plane' },
      name: { type: 'string', default: 'default' },
      help: { type: 'boolean', default: false },
    },
  });
  const [command] = positionals;
  if (values.help) return say(USAGE);
  if (command === 'up' && SIZES.includes(values.size)) return up(values.name, values.size as Size);
  if (command === 'down') return down(values.name);
  if (command === 'status') return status();
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
};

main().catch((error: unknown) => {
  process.stderr.write(
    `${error instanceof HandoverError ? `${error.code}: ${error.message}` : String(error)}\n`,
  );
  process.exitCode = 1;
});
