import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, go, python } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

test('memcached loads certificate, key and CAs at refresh_certs: two rotations without a failed connection', async () => {
  const port = await freePort();
  const stage = await stageOf('memcached', { 11211: port });
  await stage.handover('run', stage.dir, '--once');
  const args = readFileSync(join(stage.dir, 'memcached.conf'), 'utf8').trim().split(/\s+/);
  await stage.serve({ command: [program('memcached'), ...args], isUp: accepts(port) });
  const send = Buffer.from('version\r\n').toString('hex');
  const call = { port, send, ...stage.client };
  const outcome = await rotatedTwice(stage, 'memcached', [go(call), python(call)]);
  await expectRotated(stage, outcome, { consumer: 'memcached' });
});
