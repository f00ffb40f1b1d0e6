import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Kube, namespaces, secrets } from '../src/index.ts';
import { type Figure, quantile } from './figures.ts';

const COUNT = 10_000;
const RUNS = 3;

async function fill(kube: Kube): Promise<void> {
  await kube.create(namespaces, { metadata: { name: 'bench' } });
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < COUNT; n = next++) {
      await kube.create(secrets, {
        metadata: {
          name: `secret-${n}`,
          namespace: 'bench',
          labels: { 'app.kubernetes.io/name': `app-${n % 100}` },
          annotations: { 'handover.dev/revision': String(n) },
        },
        data: { value: Buffer.alloc(1024, n % 256).toString('base64') },
      });
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

interface Memory {
  readonly rss: number;
  readonly peak: number;
  readonly objects: number;
}

/** Memory of a process that follows 10,000 Secrets of 1 KB by their metadata, over that of a bare one. */
export async function informers(kube: Kube, kubeconfig: string): Promise<Figure[]> {
  await fill(kube);
  const script = fileURLToPath(new URL('./memory.mjs', import.meta.url));
  const run = promisify(execFile);
  const measure = async (...args: string[]): Promise<Memory> =>
    JSON.parse((await run(process.execPath, ['--no-warnings', script, ...args])).stdout) as Memory;
  const runs: { bare: Memory; ours: Memory }[] = [];
  for (let n = 0; n < RUNS; n++) {
    runs.push({ bare: await measure('bare'), ours: await measure('informer', kubeconfig) });
  }
  for (const { ours } of runs)
    if (ours.objects !== COUNT) throw new Error(`only ${ours.objects} objects seen`);
  const over = (of: 'rss' | 'peak') => runs.map(({ bare, ours }) => ours[of] - bare[of]);
  const bare = quantile(
    runs.map((run) => run.bare.rss),
    0.5,
  );
  return [
    {
      name: `informer of ${COUNT} Secrets of 1 KB, metadata only: RSS over bare node`,
      value: Math.max(...over('rss')),
      unit: 'MB',
      bound: { most: 60 },
      note: `worst of ${RUNS} processes (${over('rss')
        .map((value) => value.toFixed(1))
        .join(', ')}), 5 s after it was ready, no collection forced; bare node ${bare.toFixed(1)} MB`,
    },
    {
      name: 'the same at its peak, over the peak of bare node',
      value: Math.max(...over('peak')),
      unit: 'MB',
    },
  ];
}
