import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directory, example, handover } from './around.ts';
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
        readonly command?: string | readonly string[];
        readonly volumes: readonly string[];
      }
    >
  >;
}

test('docker-compose accepts the compose file, and its command fills every folder that is mounted', async () => {
  const dir = directory();
  const file = join(dir, 'compose.yaml');
  writeFileSync(file, example('docker-compose/compose.yaml'));
  const checked = spawnSync(program('docker-compose'), ['-f', file, 'config'], { encoding: 'utf8' });
  expect(checked).toMatchObject({ status: 0, stderr: '' });
  const { parse } = await import('yaml');
  const { services } = parse(checked.stdout) as Compose;
  const [own = ''] = services.handover?.volumes.map((volume) => volume.split(':')[0] ?? '') ?? [];
  const inside = services.handover?.volumes[0]?.split(':')[1];
  const words = services.handover?.command ?? [];
  const command = typeof words === 'string' ? words.split(' ') : words;
  expect(services.handover?.image).toBe(`handover:${version}`);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'handover.yaml'), example('docker-compose/handover.yaml'), { mode: 0o644 });
  const args = command.map((word) => (word === inside ? own : word));
  expect((await handover(...args, '--once')).code).toBe(0);
  for (const volume of services.web?.volumes ?? []) {
    const [from = ''] = volume.split(':');
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) expect(existsSync(join(from, name))).toBe(true);
  }
});

test('nginx in the compose file reloads well within reloadWithin of its authority', () => {
  const { period } = /while sleep (?<period>\d+)/.exec(example('docker-compose/compose.yaml'))?.groups ?? {};
  const { reloadWithin } =
    /reloadWithin: (?<reloadWithin>\d+)m/.exec(example('docker-compose/handover.yaml'))?.groups ?? {};
  expect(Number(period)).toBeGreaterThan(0);
  expect(Number(period) * 2).toBeLessThan(Number(reloadWithin) * 60);
});
