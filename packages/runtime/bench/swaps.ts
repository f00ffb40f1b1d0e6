import { createServer } from 'node:tls';
import { openTrust } from '../src/index.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { listen, readByte } from '../test/world.ts';
import { type Figure, quantile } from './figures.ts';

const SWAPS = 200;
const GIVE_UP_MS = 5_000;

/** From the rename of `..data` to the end of the first handshake that only the new roots allow; by watch alone. */
export async function swaps(): Promise<Figure[]> {
  const cas = [new MockCa('even'), new MockCa('odd')] as const;
  const servers = await Promise.all(
    cas.map((ca) =>
      listen(createServer(ca.leaf(), (socket) => void socket.on('error', () => undefined).end('!'))),
    ),
  );
  const volume = new Volume({ 'ca.crt': cas[0].pem });
  const stop = new AbortController();
  const trust = await openTrust(volume.path('ca.crt'), { signal: stop.signal });
  const took: number[] = [];
  let missed = 0;
  for (let swap = 1; swap <= SWAPS; swap++) {
    const side = swap % 2 === 0 ? 0 : 1;
    const seen = new Promise<void>((resolve) => {
      const listener = () => {
        trust.off('reloaded', listener);
        resolve();
      };
      trust.on('reloaded', listener);
    });
    const from = performance.now();
    volume.write({ 'ca.crt': cas[side].pem });
    await Promise.race([seen, new Promise((give) => setTimeout(give, GIVE_UP_MS).unref())]);
    try {
      await readByte({ port: servers[side]?.port ?? 0, secureContext: trust.secureContext() });
      took.push(performance.now() - from);
    } catch {
      missed++;
    }
    await new Promise((pause) => setTimeout(pause, 10));
  }
  stop.abort();
  for (const server of servers) await server.close();
  volume.remove();
  return [
    { name: 'swap → first handshake, p50', value: quantile(took, 0.5), unit: 'ms', bound: { most: 20 } },
    { name: 'swap → first handshake, p99', value: quantile(took, 0.99), unit: 'ms', bound: { most: 250 } },
    { name: `swaps missed of ${SWAPS}`, value: missed, unit: '', bound: { most: 0 } },
  ];
}
