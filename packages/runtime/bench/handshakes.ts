import { Agent, createServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { openIdentity, openTrust } from '../src/index.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { get, listen } from '../test/world.ts';
import { cpuRate, type Figure, interleaved, median } from './figures.ts';

const COUNT = 20;
const WIDTH = 4;

/** Handshakes per second, one request each, hot against a static context: the server's side, then the client's. */
export async function handshakes(): Promise<Figure[]> {
  const ca = new MockCa('bench');
  const leaf = ca.leaf();
  const volume = new Volume({ 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': ca.pem });
  const stop = new AbortController();
  const trust = await openTrust(volume.path('ca.crt'), { signal: stop.signal });
  const identity = await openIdentity(
    { cert: volume.path('tls.crt'), key: volume.path('tls.key') },
    { signal: stop.signal },
  );
  const answer = (_request: unknown, response: { end(text: string): void }) => response.end('ok');
  const fixed = await listen(createServer(leaf, answer));
  const hot = await listen(identity.serve(createServer(answer)));
  const secureContext = createSecureContext({ ca: ca.pem });
  const figures: Figure[] = [];
  for (const [kind, maxCachedSessions] of [
    ['full', 0],
    ['resumed', 100],
  ] as const) {
    const options = { keepAlive: false, maxCachedSessions };
    const plainAgent = new Agent({ ...options, secureContext } as object);
    const hotAgent = trust.httpsAgent(options);
    /** By processor time, which a neighbour does not change; by the clock beside it. */
    const measure =
      (url: string, agent: Agent, clock: number[] = []) =>
      async () => {
        const from = performance.now();
        const perCpuSecond = await cpuRate(COUNT, WIDTH, () => get(url, { agent }));
        clock.push(COUNT / ((performance.now() - from) / 1000));
        return perCpuSecond;
      };
    await measure(fixed.url, plainAgent)();
    await measure(hot.url, hotAgent)();
    for (const [name, url, agent] of [
      ['server', hot.url, plainAgent],
      ['agent', fixed.url, hotAgent],
    ] as const) {
      const [base, ours]: [number[], number[]] = [[], []];
      const result = await interleaved(
        5,
        24,
        measure(fixed.url, plainAgent, base),
        measure(url, agent, ours),
      );
      figures.push({
        name: `handshakes, ${kind}: hot ${name} ÷ static`,
        value: result.ratio,
        unit: '×',
        bound: { least: 0.95 },
        note: `${Math.round(result.ours)} against ${Math.round(result.base)} per second of processor time, both ends in one process; by the clock ${Math.round(median(ours))}/s against ${Math.round(median(base))}/s`,
      });
    }
  }
  stop.abort();
  await fixed.close();
  await hot.close();
  volume.remove();
  return figures;
}
