import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, type Client, go, perCall, python } from './clients.ts';
import { expectRotated, expectWaits, rotatedTwice } from './rotated.ts';
import { type Stage, stageOf } from './stage.ts';

/** CONNECT of MQTT 3.1.1, with a clean session and no name. */
const CONNECT = '100c00044d5154540402003c0000';

const broker = async (): Promise<{ stage: Stage; port: number; clients: readonly Client[] }> => {
  const port = await freePort();
  const stage = await stageOf('Mosquitto', { 8883: port });
  const { ca, cert, key } = stage.client;
  const tls = ['--cafile', ca, '--cert', cert, '--key', key];
  const call = { port, send: CONNECT, ...stage.client };
  const publish = ['-d', '-h', 'localhost', '-p', String(port), '-t', 'test', '-m', 'hello', ...tls];
  return {
    stage,
    port,
    clients: [perCall('mosquitto_pub', 'mosquitto_pub', publish), go(call), python(call)],
  };
};

const start = async (stage: Stage, port: number): Promise<void> => {
  spawnSync('install', ['-d', '-o', 'mosquitto', '-g', 'mosquitto', join(stage.dir, 'run/mosquitto')]);
  await stage.handover('run', stage.dir, '--once');
  await stage.serve({
    command: [program('mosquitto'), '-c', join(stage.dir, 'tls.conf')],
    user: 'mosquitto',
    isUp: accepts(port),
  });
};

test('Mosquitto is restarted once for each rotation, and calls fail only while it is down', async () => {
  const { stage, port, clients } = await broker();
  await start(stage, port);
  const outcome = await rotatedTwice(stage, 'Mosquitto', clients);
  await expectRotated(stage, outcome, { consumer: 'mosquitto', restarts: 2 });
});

test('a rotation waits for a Mosquitto that gets SIGHUP, which does not load the CAs, and says why', async () => {
  const { stage, port } = await broker();
  const file = join(stage.dir, 'handover.yaml');
  const wrong = `signal: { pidFile: ${stage.dir}/run/mosquitto/mosquitto.pid }`;
  writeFileSync(file, readFileSync(file, 'utf8').replace(/restart: \{.*\}$/m, wrong));
  await start(stage, port);
  await stage.run();
  await expectWaits(stage, 'waiting for mosquitto to load CA generation 2');
  expect(stage.hooks().length).toBeGreaterThan(1); // the signal was sent when it started, and for the new CA
});
