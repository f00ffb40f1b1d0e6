import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, curl, GET, go, java } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

test('HAProxy loads certificate, key and CAs at SIGUSR2: two rotations without a failed request', async () => {
  const port = await freePort();
  const stage = await stageOf('HAProxy', { 8443: port });
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({
    command: [
      program('haproxy'),
      '-W',
      '-f',
      join(stage.dir, 'haproxy.cfg'),
      '-p',
      join(stage.dir, 'run/haproxy.pid'),
    ],
    isUp: accepts(port),
  });
  const call = { port, send: GET, ...stage.client };
  const outcome = await rotatedTwice(stage, 'HAProxy', [curl(call), go(call), java(call)]);
  await expectRotated(stage, outcome, { consumer: 'haproxy' });
});
