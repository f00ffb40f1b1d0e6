import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, go, perCall, python } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

test('Redis loads certificate, key and CAs at CONFIG SET: two rotations without a failed connection', async () => {
  const port = await freePort();
  const stage = await stageOf('Redis', { 6379: port });
  spawnSync('install', ['-d', '-o', 'redis', '-g', 'redis', join(stage.dir, 'run/redis')]);
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({
    command: [
      program('redis-server'),
      join(stage.dir, 'redis.conf'),
      '--save',
      '',
      '--dir',
      join(stage.dir, 'run/redis'),
    ],
    user: 'redis',
    isUp: accepts(port),
  });
  const send = Buffer.from('PING\r\n').toString('hex');
  const { ca, cert, key } = stage.client;
  const outcome = await rotatedTwice(stage, 'Redis', [
    perCall('redis-cli', 'redis-cli', [
      '-e',
      '-h',
      'localhost',
      '-p',
      String(port),
      '--tls',
      '--cacert',
      ca,
      '--cert',
      cert,
      '--key',
      key,
      'ping',
    ]),
    go({ port, send, ...stage.client }),
    python({ port, send, ...stage.client }),
  ]);
  await expectRotated(stage, outcome, { consumer: 'redis' });
});
