import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Figure, median } from './figures.ts';

const published = fileURLToPath(new URL('./published.mjs', import.meta.url));
const BARE = 'const from = performance.now();';
const REPORT =
  'console.log(JSON.stringify({ ms: performance.now() - from, rss: process.memoryUsage.rss() / 2 ** 20 }));';

const measure = (body: string): { ms: number; rss: number } =>
  JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', `${BARE}${body}${REPORT}`]).toString(),
  ) as { ms: number; rss: number };

/** What importing the package costs over a node that imports nothing. Medians of 15, in turns. */
export function importCost(): Figure[] {
  const ms: number[] = [];
  const rss: number[] = [];
  for (let run = 0; run < 15; run++) {
    const bare = measure('');
    const ours = measure(`await import(${JSON.stringify(published)});`);
    ms.push(ours.ms - bare.ms);
    rss.push(ours.rss - bare.rss);
  }
  return [
    { name: 'import of @handover/runtime', value: median(ms), unit: 'ms', bound: { most: 60 } },
    { name: 'import of @handover/runtime, RSS', value: median(rss), unit: 'MB', bound: { most: 10 } },
  ];
}
