import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../around.ts';
import { program } from '../programs.ts';
import { accepts, type Client, go, perCall, python } from './clients.ts';
import { expectRotated, rotatedTwice } from './rotated.ts';
import { type Stage, stageOf } from './stage.ts';

/** CONNECT of MQTT 3.1.1, with a clean session and no name. */
const CONNECT = '100c00044d5154540402003c0000';

const broker = async (): Promise<{ stage: Stage; port: number; clients: readonly Client[] }> => {
  const port = await freePort();
  const stage = await stageOf('Mosquitto', { 8883: port });
  const { ca, cert, key } = stage.client;
  const tls = ['--cafile', ca, '--cert', cert, '--key', key];
  const call = { port, send: CONNECT, ...stage.client };
  const publish = ['-h', 'localhost', '-p', String(port), '-t', 'test', '-m', 'hello', ...tls];
  return {
    stage,
    port,
    clients: [perCall('mosquitto_pub', 'mosquitto_pub', publish), go(call), python(call)],
  };
};

const start = async (stage: Stage, port: number): Promise<void> => {
  await stage.handover('run', stage.dir, '--once');
  const args = ['--reuid=mosquitto', '--regid=mosquitto', '--clear-groups'];
  const server = [program('mosquitto'), '-c', join(stage.dir, 'tls.conf')];
  await stage.serve(() => spawn('setpriv', [...args, ...server], { stdio: 'ignore' }), accepts(port));
};

test('Mosquitto is restarted once for each rotation, and calls fail only while it is down', async () => {
  const { stage, port, clients } = await broker();
  await start(stage, port);
  const outcome = await rotatedTwice(stage, 'Mosquitto', clients);
  await expectRotated(stage, outcome, { consumer: 'mosquitto', restarts: 2 });
});
