import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { directory, example, handover, rotatedTwice, started } from './around.ts';
import { program } from './programs.ts';

/** One handshake by a client that reads the bundle each time; undefined: success. */
const call = (port: number, ca: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: readFileSync(ca) });
    const end = (problem?: string): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.on('secureConnect', () => end());
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });

test('nginx with a reload hook is rotated twice without a failed handshake', async () => {
  const dir = directory();
  const port = await freePort();
  const nginx = program('nginx');
  const local = (text: string): string =>
    text
      .replaceAll('/etc/handover', dir)
      .replaceAll('8443', String(port))
      .replace('/run/nginx.pid', `${dir}/nginx.pid`)
      .replace('reloadWithin: 3m', 'reloadWithin: 300ms')
      .replace('[nginx,', `[${nginx},`);
  for (const name of ['handover.yaml', 'nginx.conf'])
    writeFileSync(join(dir, name), local(example(`nginx/${name}`)), { mode: 0o644 });
  await handover('run', dir, '--once');
  started(spawn(nginx, ['-c', join(dir, 'nginx.conf'), '-g', 'daemon off;'], { stdio: 'ignore' }));
  const ca = join(dir, 'out/default/configmaps/internal-trust/ca.crt');
  await expect.poll(() => call(port, ca), { timeout: 30_000 }).toBeUndefined();
  const { codes, calls, problems } = await rotatedTwice(dir, () => call(port, ca));
  expect({ codes, problems }).toEqual({ codes: [0, 0], problems: [] });
  expect(calls).toBeGreaterThan(50);
  const { stdout } = await handover('status', '--json', '--home', `dir:${dir}`);
  expect(JSON.parse(stdout).authorities[0]).toMatchObject({
    phase: 'Stable',
    generations: [{ generation: 3 }],
    consumers: [{ name: 'nginx', evidence: 'probed' }],
  });
});
