import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import type { Figure } from './figures.ts';

const published = fileURLToPath(new URL('./published.mjs', import.meta.url));
const PROFILE = '{"ciphers":["TLS_AES_128_GCM_SHA256"],"minTLSVersion":"VersionTLS13"}';

const program = (dir: string): string => `
import { createServer } from 'node:https';
import { openIdentity, openTlsProfile } from ${JSON.stringify(published)};
const profile = await openTlsProfile('${dir}/profile.json', { lastKnownGood: '${dir}/copy.json' });
const identity = await openIdentity({ cert: '${dir}/tls.crt', key: '${dir}/tls.key' });
identity.serve(createServer(), { profile }).listen(0, '127.0.0.1', () => process.exit(0));
`;

/** S1.1: twelve starts, from nothing to a listening server, with an API server that accepts and never answers. */
export async function startup(): Promise<Figure[]> {
  const ca = new MockCa('one');
  const { cert, key } = ca.leaf();
  const volume = new Volume({ 'tls.crt': cert, 'tls.key': key, 'profile.json': PROFILE });
  const held: Socket[] = [];
  const blackHole = createServer((socket) => void held.push(socket)).listen(0, '127.0.0.1');
  await once(blackHole, 'listening');
  const script = volume.path('start.mjs');
  writeFileSync(script, program(volume.dir));
  const env = {
    PATH: process.env.PATH,
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String((blackHole.address() as AddressInfo).port),
  };
  const took: number[] = [];
  try {
    for (let start = 0; start < 12; start++) {
      const from = performance.now();
      const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'ignore', 'inherit'] });
      const [code] = await once(child, 'close');
      took.push(code === 0 ? performance.now() - from : Number.NaN);
    }
  } finally {
    for (const socket of held) socket.destroy();
    blackHole.close();
    volume.remove();
  }
  const slowest = took.some(Number.isNaN) ? Number.NaN : Math.max(...took);
  return [
    {
      name: 'start with a TLS profile, API server silent, slowest of 12',
      value: slowest,
      unit: 'ms',
      bound: { most: 2000 },
    },
    { name: 'calls to the API server by these', value: held.length, unit: 'calls', bound: { most: 0 } },
  ];
}
