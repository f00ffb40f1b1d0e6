import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { onTestFinished, test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, curl, GET, go } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { stageOf } from './stage.ts';

test('stunnel loads certificate, key and CAs at SIGHUP: two rotations, and calls fail only while it binds its port anew', async () => {
  const [port, behind] = [await freePort(), await freePort()];
  const web = createServer((_, response) => void response.end('hello')).listen(behind, '127.0.0.1');
  onTestFinished(() => void web.close());
  const stage = await stageOf('stunnel', { 8443: port, 8080: behind });
  const config = join(stage.dir, 'web.conf');
  writeFileSync(config, `foreground = yes\nsyslog = no\n${readFileSync(config, 'utf8')}`);
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({ command: [program('stunnel4'), config], isUp: accepts(port) });
  const call = { port, send: GET, ...stage.client };
  const outcome = await rotatedTwice(stage, 'stunnel', [curl(call), go(call)]);
  await expectRotated(stage, outcome, { consumer: 'stunnel', drops: true });
});
