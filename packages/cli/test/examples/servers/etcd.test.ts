import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { program } from '../programs.ts';
import { accepts, curl, GET, go } from './clients.ts';
import { expectRotated, expectWaits, rotatedTwice } from './rotated.ts';
import { type Stage, stageOf } from './stage.ts';

const staged = async (): Promise<{ stage: Stage; port: number }> => {
  const port = await freePort();
  return { stage: await stageOf('etcd', { 2379: port }), port };
};

const start = async (stage: Stage, port: number): Promise<void> => {
  const data = join(stage.dir, 'data');
  spawnSync('install', ['-d', '-o', 'etcd', '-g', 'etcd', '-m', '0700', data]);
  await stage.handover('run', stage.dir, '--once');
  const lines = readFileSync(join(stage.dir, 'etcd'), 'utf8').trim().split('\n');
  const url = `http://127.0.0.1:${await freePort()}`;
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
};

test('etcd is restarted once for each rotation, and calls fail only while it is down', async () => {
  const { stage, port } = await staged();
  await start(stage, port);
  const call = { port, send: GET, ...stage.client };
  const outcome = await rotatedTwice(stage, 'etcd', [curl(call), go(call)]);
  await expectRotated(stage, outcome, { consumer: 'etcd', restarts: 2 });
});

/** SHA-256 of the certificate that a server presents; undefined: none. */
const presented = (port: number): string | undefined => {
  const args = ['s_client', '-connect', `127.0.0.1:${port}`];
  const { stdout } = spawnSync(program('openssl'), args, { encoding: 'utf8', input: '' });
  const [pem] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(stdout) ?? [];
  return pem === undefined ? undefined : new X509Certificate(pem).fingerprint256;
};

test('without a hook etcd presents a new certificate, but keeps its CAs: the rotation waits and says why', async () => {
  const { stage, port } = await staged();
  const file = join(stage.dir, 'handover.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/ {2}reload:\n.*\n/, ''));
  await start(stage, port);
  await stage.run();
  const before = presented(port);
  expect(before).toBeDefined();
  rmSync(join(stage.dir, 'out/default/secrets/etcd'), { recursive: true });
  await expect.poll(() => presented(port) ?? before, { timeout: 30_000 }).not.toBe(before);
  await expectWaits(stage, 'waiting for etcd to load CA generation 2');
});
