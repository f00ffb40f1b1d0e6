import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { instant } from '@handover/material';
import { afterEach, expect, test } from 'vitest';
import { type Around, handover } from '../test/capture.ts';

const example = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url)), 'utf8');
const found = (...places: readonly (string | undefined)[]): string | undefined =>
  places.find((place) => place !== undefined && existsSync(place));
const nginx = found(process.env.HANDOVER_NGINX, '/usr/sbin/nginx', '/usr/local/sbin/nginx');
const children: ChildProcess[] = [];
const directories: string[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
};
/** The clock of the machine: these programs have one of their own. */
const live = (): Around => ({ now: instant(Date.now()) });
const directory = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'handover-example-'));
  chmodSync(path, 0o755);
  directories.push(path);
  return path;
};

/** One handshake by somebody who reads the bundle each time; undefined when all is well. */
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

test.skipIf(nginx === undefined)(
  'nginx, told to reload, is rotated twice while a client sees no failure',
  async () => {
    const dir = directory();
    const port = await freePort();
    const local = (text: string): string =>
      text
        .replaceAll('/etc/handover', dir)
        .replaceAll('8443', String(port))
        .replace('/run/nginx.pid', `${dir}/nginx.pid`)
        .replace('settle: 3m', 'settle: 1s')
        .replace('[nginx,', `[${nginx},`)
        // The places of the Debian package are not there where nginx was only unpacked.
        .replace(
          'access_log off;',
          `${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
            .map((what) => `${what}_temp_path ${dir}/${what};`)
            .join('\n')}\naccess_log off;`,
        );
    writeFileSync(join(dir, 'handover.yaml'), local(example('nginx/handover.yaml')), { mode: 0o644 });
    writeFileSync(join(dir, 'nginx.conf'), local(example('nginx/nginx.conf')), { mode: 0o644 });
    await handover(['run', dir, '--once'], live());
    const server = spawn(nginx ?? '', ['-c', join(dir, 'nginx.conf'), '-g', 'daemon off;'], {
      stdio: 'ignore',
    });
    children.push(server);
    const ca = join(dir, 'out/default/configmaps/internal-trust/ca.crt');
    await expect.poll(() => call(port, ca), { timeout: 10_000 }).toBeUndefined();
    const problems: string[] = [];
    let calls = 0;
    const stop = new AbortController();
    const calling = (async () => {
      while (!stop.signal.aborted) {
        const problem = await call(port, ca);
        calls++;
        if (problem !== undefined) problems.push(problem);
      }
    })();
    for (const id of ['one', 'two']) {
      const child = spawn(
        process.execPath,
        [
          fileURLToPath(new URL('../bin/handover.js', import.meta.url)),
          'rotate',
          'internal',
          '--id',
          id,
          '--wait',
          '--home',
          `dir:${dir}`,
        ],
        { stdio: 'ignore' },
      );
      expect(await once(child, 'close')).toEqual([0, null]);
    }
    stop.abort();
    await calling;
    expect(problems).toEqual([]);
    expect(calls).toBeGreaterThan(50);
    const { stdout } = await handover(['status', '--json', '--home', `dir:${dir}`], live());
    expect(JSON.parse(stdout).authorities[0]).toMatchObject({
      phase: 'Stable',
      generations: [{ generation: 3 }],
      consumers: [{ name: 'nginx', evidence: 'probed' }],
    });
  },
  60_000,
);

const postgres = found(
  process.env.HANDOVER_POSTGRES,
  '/usr/lib/postgresql/15/bin',
  '/usr/lib/postgresql/17/bin',
);
const account = readFileSync('/etc/passwd', 'utf8')
  .split('\n')
  .find((line) => line.startsWith('postgres:'))
  ?.split(':');
const canGiveAway = postgres !== undefined && process.getuid?.() === 0 && account !== undefined;

test.skipIf(!canGiveAway)(
  'PostgreSQL, with its key given to its user, is rotated twice while psql sees no failure',
  async () => {
    const dir = directory();
    const data = join(dir, 'data');
    const port = await freePort();
    const as = { uid: Number(account?.[2]), gid: Number(account?.[3]), cwd: '/' };
    spawnSync('install', ['-d', '-o', 'postgres', '-g', 'postgres', '-m', '0700', data]);
    expect(spawnSync(join(postgres ?? '', 'initdb'), ['-D', data, '-A', 'trust', '-N'], as).status).toBe(0);
    const local = example('postgresql/handover.yaml')
      .replaceAll('/var/lib/postgresql/data', data)
      .replace('settle: 3m', 'settle: 1s');
    writeFileSync(join(dir, 'handover.yaml'), local, { mode: 0o644 });
    await handover(['run', dir, '--once'], live());
    const secret = join(dir, 'out/default/secrets/db');
    const settings = [
      ['ssl', 'on'],
      ['ssl_cert_file', join(secret, 'tls.crt')],
      ['ssl_key_file', join(secret, 'tls.key')],
      ['unix_socket_directories', data],
      ['listen_addresses', '127.0.0.1'],
      ['fsync', 'off'],
    ].flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawn(join(postgres ?? '', 'postgres'), ['-D', data, '-p', String(port), ...settings], {
      ...as,
      stdio: 'ignore',
    });
    children.push(server);
    const ca = join(dir, 'out/default/configmaps/internal-trust/ca.crt');
    const ask = async (): Promise<number | null> => {
      const connection = `host=localhost hostaddr=127.0.0.1 port=${port} user=postgres dbname=postgres sslmode=verify-full sslrootcert=${ca}`;
      const child = spawn(join(postgres ?? '', 'psql'), [connection, '-Atc', 'select 1'], {
        stdio: 'ignore',
      });
      const [code] = await once(child, 'close');
      return code;
    };
    await expect.poll(ask, { timeout: 20_000 }).toBe(0);
    const codes: (number | null)[] = [];
    const stop = new AbortController();
    const asking = (async () => {
      while (!stop.signal.aborted) codes.push(await ask());
    })();
    for (const id of ['one', 'two']) {
      const child = spawn(
        process.execPath,
        [
          fileURLToPath(new URL('../bin/handover.js', import.meta.url)),
          'rotate',
          'internal',
          '--id',
          id,
          '--wait',
          '--home',
          `dir:${dir}`,
        ],
        { stdio: 'ignore' },
      );
      expect(await once(child, 'close')).toEqual([0, null]);
    }
    stop.abort();
    await asking;
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.every((code) => code === 0)).toBe(true);
  },
  90_000,
);
