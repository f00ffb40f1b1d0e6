import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, perCall, python } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

const CONFIG = (dir: string, port: number): string => `
primary_hostname = localhost
keep_environment =
spool_directory = ${dir}/spool
log_file_path = ${dir}/spool/%slog
pid_file_path = ${dir}/spool/exim.pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
`;

test('Exim, probed through STARTTLS of SMTP, follows its files without a hook: two rotations without a failed session', async () => {
  const port = await freePort();
  const stage = await stageOf('Exim', { '127.0.0.1:25': `127.0.0.1:${port}` });
  const config = join(stage.dir, 'exim4.conf');
  spawnSync('install', ['-d', '-o', 'Debian-exim', '-g', 'Debian-exim', join(stage.dir, 'spool')]);
  writeFileSync(config, `${CONFIG(stage.dir, port)}${readFileSync(config, 'utf8')}`);
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({ command: [program('exim4-daemon-light'), '-bdf', '-C', config], isUp: accepts(port) });
  const { ca } = stage.client;
  const outcome = await rotatedTwice(stage, 'Exim', [
    perCall('curl', program('curl'), [
      ...['-sS', '--ssl-reqd', '--cacert', ca],
      ...['--request', 'NOOP', `smtp://localhost:${port}`],
    ]),
    python({ port, starttls: 'smtp', ca }),
  ]);
  await expectRotated(stage, outcome, { consumer: 'exim' });
  const at = `127.0.0.1:${port}`;
  const checked = await stage.handover(
    'tls',
    'check',
    at,
    '--starttls',
    'smtp',
    '--profile',
    'Old',
    '--json',
  );
  // Exim takes 20 connections at a time, and the check makes more.
  expect(JSON.parse(checked.stdout).servers[0]).toMatchObject({
    unknowns: [],
    negotiated: { kind: 'done', version: 'TLS 1.3' },
  });
});
