import { cpus, loadavg } from 'node:os';
import { startCluster } from '@handover/test-cluster';
import { connect, loadKubeConfig } from '../src/index.ts';
import { type Figure, holds, row } from './figures.ts';
import { informers } from './informers.ts';
import { requests } from './requests.ts';
import { resume } from './resume.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);
const only = process.argv[2];
const load = loadavg()[0] ?? Number.NaN;
const stop = new AbortController();
const cluster = await startCluster({ say: () => undefined });
try {
  const { kubeconfig } = cluster;
  const kube = connect(await loadKubeConfig({ kubeconfig }), { signal: stop.signal, rate: false });
  const parts: readonly (readonly [string, () => Promise<Figure[]>])[] = [
    ['requests', () => requests(kube, kubeconfig)],
    ['informers', () => informers(kube, kubeconfig)],
    ['resume', () => resume(kube, cluster)],
  ];
  say(
    `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model}),`,
  );
  say(`load ${load.toFixed(1)} before it began.\n`);
  say('| figure | measured | bound | | |\n| --- | --- | --- | --- | --- |');
  for (const [name, part] of parts) {
    if (only !== undefined && only !== name) continue;
    for (const figure of await part()) {
      say(row(figure));
      if (!holds(figure)) process.exitCode = 1;
    }
  }
} finally {
  stop.abort();
  await cluster.stop();
}
