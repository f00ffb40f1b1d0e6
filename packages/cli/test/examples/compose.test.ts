import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directory, example } from './around.ts';
import { runContainer, runImage } from './container.ts';
import { nginxImage } from './nginx-image.ts';
import { program } from './programs.ts';
import { GET, python } from './servers/clients.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
}
interface Service {
  readonly image: string;
  readonly user?: string;
  readonly command?: string;
  readonly volumes: readonly string[];
}

test('both services of the compose file, each in a container: nginx gets its certificate, and a rotation fails no request', async () => {
  const dir = directory();
  const file = join(dir, 'compose.yaml');
  writeFileSync(file, example('docker-compose/compose.yaml').replace('sleep 60', 'sleep 1'));
  writeFileSync(join(dir, 'web.conf'), example('docker-compose/web.conf'));
  const checked = spawnSync(program('docker-compose'), ['-f', file, 'config'], { encoding: 'utf8' });
  expect(checked).toMatchObject({ status: 0, stderr: '' });
  const { parse } = await import('yaml');
  const { handover, web } = (parse(checked.stdout) as Compose).services;
  const [own = '', inside = ''] = handover?.volumes[0]?.split(':') ?? [];
  expect(handover).toMatchObject({ image: `handover:${version}`, user: '0:0' });
  mkdirSync(own, { recursive: true });
  const yaml = example('docker-compose/handover.yaml').replace('reloadWithin: 3m', 'reloadWithin: 10s');
  writeFileSync(join(own, 'handover.yaml'), yaml, { mode: 0o644 });

  const mounts = web?.volumes.map((volume) => volume.split(':') as [string, string, string]) ?? [];
  const [[folder = ''] = []] = mounts;
  // As docker does with a folder that is not there yet.
  mkdirSync(folder, { recursive: true });
  const [, script = ''] = /^sh -c "(.*)"$/.exec(web?.command ?? '') ?? [];
  const nginx = runContainer({
    rootfs: nginxImage(),
    command: ['sh', '-c', script],
    mounts,
    isWritable: true,
  });
  const container = runImage(handover?.command?.split(' ') ?? [], own, inside);

  const ca = join(own, 'out/default/configmaps/internal-trust/ca.crt');
  const results: string[] = [];
  const stop = new AbortController();
  const successes = () => results.filter((result) => result === 'ok').length;
  await expect.poll(() => existsSync(ca), { timeout: 30_000 }).toBe(true);
  python({ port: 443, ca, send: GET }, nginx.enter()).start((result) => results.push(result), stop.signal);
  await expect.poll(successes, { timeout: 30_000 }).toBeGreaterThan(0);
  const [leaf, { ino }] = [readFileSync(join(folder, 'tls.crt'), 'utf8'), statSync(folder)];
  results.length = 0;
  const rotated = container.exec('rotate', 'default/internal', '--wait', '--home', `dir:${inside}`);
  expect(rotated).toMatchObject({ status: 0, stdout: expect.stringContaining('is complete') });
  // The output of the client is read only now; what comes then was asked with the old CA gone.
  await expect.poll(successes, { timeout: 30_000 }).toBeGreaterThan(50);
  const soFar = results.length;
  await expect.poll(() => results.length, { timeout: 30_000 }).toBeGreaterThan(soFar + 10);
  stop.abort();
  expect(results.filter((result) => result !== 'ok')).toEqual([]);
  console.log(`nginx of the compose file: ${results.length} requests, 0 failed`);
  expect(readFileSync(join(folder, 'tls.crt'), 'utf8')).not.toBe(leaf);
  // The mount of a folder follows, as long as the folder stays the same one.
  expect(statSync(folder).ino).toBe(ino);
  expect([await container.stop(), await nginx.stop()]).toEqual([0, 0]);
});

test('nginx in the compose file reloads well within reloadWithin of its authority', () => {
  const { period } = /while sleep (?<period>\d+)/.exec(example('docker-compose/compose.yaml'))?.groups ?? {};
  const { reloadWithin } =
    /reloadWithin: (?<reloadWithin>\d+)m/.exec(example('docker-compose/handover.yaml'))?.groups ?? {};
  expect(Number(period)).toBeGreaterThan(0);
  expect(Number(period) * 2).toBeLessThan(Number(reloadWithin) * 60);
});
