import { readdirSync } from 'node:fs';
import { createServer } from 'node:https';
import { request } from 'undici';
import { openIdentity } from '../src/index.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { eventually, get, listen } from '../test/world.ts';
import { type Figure, median, quantile } from './figures.ts';

const PER_SECOND = 200;
const ROTATION_MS = 2_000;

declare const gc: (() => void) | undefined;

/** mTLS under load, with a whole rotation every two seconds: trust goes out, leaves follow, the old CA goes. */
export async function soak(seconds: number): Promise<Figure[]> {
  let ca = new MockCa('soak');
  const contents = (leafOf: MockCa, ...trusted: MockCa[]) => {
    const leaf = leafOf.leaf();
    return { 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': trusted.map(({ pem }) => pem).join('') };
  };
  const serverFiles = new Volume(contents(ca, ca));
  const clientFiles = new Volume(contents(ca, ca));
  const stop = new AbortController();
  const open = (volume: Volume) =>
    openIdentity(
      { cert: volume.path('tls.crt'), key: volume.path('tls.key'), ca: volume.path('ca.crt') },
      { signal: stop.signal, drainMs: 5_000 },
    );
  const serverSide = await open(serverFiles);
  const clientSide = await open(clientFiles);
  const target = await listen(
    serverSide.serve(
      createServer({ requestCert: true, rejectUnauthorized: true }, (_request, response) =>
        response.end('ok'),
      ),
    ),
  );
  // Limits as in production: without them each request that waits at a swap makes a handshake of its own.
  const agent = clientSide.httpsAgent({ maxSockets: 8 });
  const dispatcher = clientSide.dispatcher({ connections: 8 });
  let sent = 0;
  let failed = 0;
  const took: number[] = [];
  const failures = new Map<string, number>();
  const ask = async () => {
    const from = performance.now();
    try {
      if (sent++ % 2 === 0) await get(target.url, { agent });
      else await (await request(target.url, { dispatcher })).body.text();
      took.push(performance.now() - from);
    } catch (error) {
      failed++;
      const words = String((error as Error).cause ?? error);
      failures.set(words, (failures.get(words) ?? 0) + 1);
    }
  };

  let rotations = 0;
  const rotate = async () => {
    const next = new MockCa('soak');
    const both = async (write: (volume: Volume) => void) => {
      const loads = [serverSide, clientSide].map((side) => side.status().loads);
      write(serverFiles);
      write(clientFiles);
      await eventually(() =>
        [serverSide, clientSide].every((side, i) => side.status().loads > (loads[i] ?? 0)),
      );
    };
    const old = ca;
    await both((volume) => volume.write(contents(old, next, old)));
    await both((volume) => volume.write(contents(next, next, old)));
    await both((volume) => volume.write(contents(next, next)));
    ca = next;
    rotations++;
  };

  const samples: { descriptors: number; mb: number }[] = [];
  const sample = () => {
    gc?.();
    const { heapUsed, external } = process.memoryUsage();
    samples.push({
      descriptors: readdirSync('/proc/self/fd').length,
      mb: (heapUsed + external) / 2 ** 20,
    });
  };

  const from = performance.now();
  const underWay = new Set<Promise<void>>();
  const rotating = (async () => {
    while (performance.now() - from < seconds * 1000) {
      const started = performance.now();
      await rotate();
      sample();
      await new Promise((pause) =>
        setTimeout(pause, Math.max(0, ROTATION_MS - (performance.now() - started))),
      );
    }
  })();
  // by the clock, not by the answers: slow answers must not make less load
  while (performance.now() - from < seconds * 1000) {
    const due = ((performance.now() - from) / 1000) * PER_SECOND;
    while (sent < due) {
      const call = ask();
      underWay.add(call);
      void call.finally(() => underWay.delete(call));
    }
    await new Promise((tick) => setTimeout(tick, 5));
  }
  await rotating;
  await Promise.all(underWay);
  stop.abort();
  await target.close();
  serverFiles.remove();
  clientFiles.remove();

  const third = Math.floor(samples.length / 3);
  const early = samples.slice(third, 2 * third);
  const late = samples.slice(2 * third);
  const growth = (pick: (sample: { descriptors: number; mb: number }) => number) =>
    median(late.map(pick)) / median(early.map(pick));
  return [
    {
      name: `soak ${seconds} s: failed requests`,
      value: failed,
      unit: `of ${sent}`,
      bound: { most: 0 },
      note:
        [...failures].map(([words, count]) => `${count}× ${words}`).join('; ') || `${rotations} rotations`,
    },
    {
      name: 'soak: requests per second',
      value: sent / seconds,
      unit: '/s',
      bound: { least: PER_SECOND * 0.98 },
    },
    {
      name: 'soak: rotations',
      value: rotations,
      unit: '',
      bound: { least: Math.floor((seconds * 1000) / ROTATION_MS) - 2 },
    },
    {
      name: 'soak: latency p50 / p99',
      value: quantile(took, 0.99),
      unit: 'ms p99',
      note: `p50 ${quantile(took, 0.5).toFixed(2)} ms`,
    },
    {
      name: 'soak: memory, last third ÷ middle third',
      value: growth(({ mb }) => mb),
      unit: '×',
      bound: { most: 1.1 },
      note: `${median(late.map(({ mb }) => mb)).toFixed(1)} MB heap + external after gc`,
    },
    {
      name: 'soak: descriptors, last third ÷ middle third',
      value: growth(({ descriptors }) => descriptors),
      unit: '×',
      bound: { most: 1.1 },
      note: `${median(late.map(({ descriptors }) => descriptors))} open`,
    },
  ];
}
