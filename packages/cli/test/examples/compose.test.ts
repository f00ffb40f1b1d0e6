import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directory, example } from './around.ts';
import { runImage } from './container.ts';
import { program } from './programs.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly user?: string;
        readonly command?: string | readonly string[];
        readonly volumes: readonly string[];
      }
    >
  >;
}

test('the service of the compose file, in a container of the image, fills every folder that is mounted, rotates and stops', async () => {
  const dir = directory();
  const file = join(dir, 'compose.yaml');
  writeFileSync(file, example('docker-compose/compose.yaml'));
  const checked = spawnSync(program('docker-compose'), ['-f', file, 'config'], { encoding: 'utf8' });
  expect(checked).toMatchObject({ status: 0, stderr: '' });
  const { parse } = await import('yaml');
  const { services } = parse(checked.stdout) as Compose;
  const [own = '', inside = ''] = services.handover?.volumes[0]?.split(':') ?? [];
  const words = services.handover?.command ?? [];
  const command = typeof words === 'string' ? words.split(' ') : words;
  expect(services.handover).toMatchObject({ image: `handover:${version}`, user: '0:0' });
  mkdirSync(own, { recursive: true });
  const yaml = example('docker-compose/handover.yaml').replace('reloadWithin: 3m', 'reloadWithin: 1s');
  writeFileSync(join(own, 'handover.yaml'), yaml, { mode: 0o644 });
  const container = runImage(command, own, inside);
  const folders = services.web?.volumes.map((volume) => volume.split(':')[0] ?? '') ?? [];
  expect(folders).toHaveLength(1);
  const [folder = ''] = folders;
  for (const name of ['tls.crt', 'tls.key', 'ca.crt'])
    await expect.poll(() => existsSync(join(folder, name)), { timeout: 30_000 }).toBe(true);
  const [leaf, { ino }] = [readFileSync(join(folder, 'tls.crt'), 'utf8'), statSync(folder)];
  const rotated = container.exec('rotate', 'default/internal', '--wait', '--home', `dir:${inside}`);
  expect(rotated).toMatchObject({ status: 0, stdout: expect.stringContaining('is complete') });
  expect(readFileSync(join(folder, 'tls.crt'), 'utf8')).not.toBe(leaf);
  // The mount of a folder follows, as long as the folder stays the same one.
  expect(statSync(folder).ino).toBe(ino);
  expect(await container.stop()).toBe(0);
});

test('nginx in the compose file reloads well within reloadWithin of its authority', () => {
  const { period } = /while sleep (?<period>\d+)/.exec(example('docker-compose/compose.yaml'))?.groups ?? {};
  const { reloadWithin } =
    /reloadWithin: (?<reloadWithin>\d+)m/.exec(example('docker-compose/handover.yaml'))?.groups ?? {};
  expect(Number(period)).toBeGreaterThan(0);
  expect(Number(period) * 2).toBeLessThan(Number(reloadWithin) * 60);
});
