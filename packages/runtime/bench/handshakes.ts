import { Agent, createServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { openIdentity, openTrust } from '../src/index.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { get, listen } from '../test/world.ts';
import { type Figure, interleaved, rate } from './figures.ts';

const COUNT = 100;
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
    const measure = (url: string, agent: Agent) => () => rate(COUNT, WIDTH, () => get(url, { agent }));
    await measure(fixed.url, plainAgent)();
    await measure(hot.url, hotAgent)();
    const server = await interleaved(5, 8, measure(fixed.url, plainAgent), measure(hot.url, plainAgent));
    const client = await interleaved(5, 8, measure(fixed.url, plainAgent), measure(fixed.url, hotAgent));
    for (const [name, { base, ours, ratio }] of [
      ['server', server],
      ['agent', client],
    ] as const) {
      figures.push({
        name: `handshakes, ${kind}: hot ${name} ÷ static`,
        value: ratio,
        unit: '×',
        bound: { least: 0.95 },
        note: `${Math.round(ours)}/s against ${Math.round(base)}/s`,
      });
    }
  }
  stop.abort();
  await fixed.close();
  await hot.close();
  volume.remove();
  return figures;
}
