import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { freePort } from '../around.ts';
import { program } from '../programs.ts';
import { accepts, curl, GET, go } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

test('etcd is restarted once for each rotation, and calls fail only while it is down', async () => {
  const [port, peers] = [await freePort(), await freePort()];
  const stage = await stageOf('etcd', { 2379: port });
  const data = join(stage.dir, 'data');
  spawnSync('install', ['-d', '-o', 'etcd', '-g', 'etcd', '-m', '0700', data]);
  await stage.handover('run', stage.dir, '--once');
  const lines = readFileSync(join(stage.dir, 'etcd'), 'utf8').trim().split('\n');
  const url = `http://127.0.0.1:${peers}`;
  const args = [
    ...['--data-dir', data, '--listen-peer-urls', url],
    ...['--initial-advertise-peer-urls', url, '--initial-cluster', `default=${url}`],
  ];
  await stage.serve({
    command: [program('etcd-server'), ...args],
    user: 'etcd',
    env: Object.fromEntries(lines.map((line) => line.split('='))),
    isUp: accepts(port),
  });
  const call = { port, send: GET, ...stage.client };
  const outcome = await rotatedTwice(stage, 'etcd', [curl(call), go(call)]);
  await expectRotated(stage, outcome, { consumer: 'etcd', restarts: 2 });
});
