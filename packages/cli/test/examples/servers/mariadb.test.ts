import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { program } from '../programs.ts';
import { perCall, python } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

test('MariaDB loads certificate, key and CAs at flush-ssl: two rotations without a failed connection', async () => {
  const port = await freePort();
  const stage = await stageOf('MariaDB', { 3306: port });
  const data = join(stage.dir, 'data');
  const socket = join(stage.dir, 'run/mysqld/mysqld.sock');
  for (const folder of [data, join(stage.dir, 'run/mysqld')])
    spawnSync('install', ['-d', '-o', 'mysql', '-g', 'mysql', folder]);
  const made = spawnSync('mariadb-install-db', ['--no-defaults', '--user=mysql', `--datadir=${data}`], {
    encoding: 'utf8',
  });
  expect(made.status, made.stderr).toBe(0);
  await stage.handover('run', stage.dir, '--once');
  const sql = (...args: readonly string[]): boolean =>
    spawnSync('mariadb', [`--socket=${socket}`, ...args]).status === 0;
  await stage.serve({
    command: [
      program('mariadb-server'),
      `--defaults-file=${join(stage.dir, '60-tls.cnf')}`,
      '--user=mysql',
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      `--datadir=${data}`,
      `--tmpdir=${data}`,
      `--socket=${socket}`,
    ],
    isUp: async () => sql('-e', 'select 1'),
  });
  expect(sql('-e', 'create user app@localhost require x509; create user app@127.0.0.1 require x509')).toBe(
    true,
  );
  const outcome = await rotatedTwice(stage, 'MariaDB', [
    perCall('mariadb', 'mariadb', [
      '--protocol=tcp',
      '--host=127.0.0.1',
      `--port=${port}`,
      '--user=app',
      '--ssl-verify-server-cert',
      `--ssl-ca=${stage.client.ca}`,
      `--ssl-cert=${stage.client.cert}`,
      `--ssl-key=${stage.client.key}`,
      '--execute=select 1',
    ]),
    python({ port, starttls: 'mysql', ...stage.client }),
  ]);
  await expectRotated(stage, outcome, { consumer: 'mariadb' });
  const asked = ['--starttls', 'mysql', '--profile', 'Old', '--json'];
  const checked = await stage.handover('tls', 'check', `127.0.0.1:${port}`, ...asked);
  expect(JSON.parse(checked.stdout).servers[0]).toMatchObject({
    unknowns: [],
    negotiated: { kind: 'done', version: 'TLS 1.3' },
  });
});
