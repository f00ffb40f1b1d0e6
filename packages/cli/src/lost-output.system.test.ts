import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM } from '@handover/test-api-server';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { build, eventually, folder, handoverAs } from '../test/real-process.ts';

beforeAll(build, 120_000);

const begun = async () => {
  const home = join(folder(), 'home');
  await handoverAs(['init', home]);
  const file = join(home, 'out/default/secrets/web/tls.crt');
  return { home, file };
};

const end = async (child: ReturnType<typeof spawn>): Promise<unknown> => {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = await ended;
  return code;
};

test.skipIf(!existsSync('/dev/full'))('run goes on when the disk of its log is full', async () => {
  const { home, file } = await begun();
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [PROGRAM, 'run', home], { stdio: ['ignore', full, 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let told = '';
  child.stderr?.on('data', (chunk) => {
    told += chunk;
  });
  await eventually('the certificate', () => existsSync(file));
  await eventually('a word about it', () => told !== '');
  expect(await end(child)).toBe(0);
  expect(told).toBe('standard output is lost (ENOSPC); handover continues without it\n');
});

test('run goes on when the program behind its pipe is gone', async () => {
  const { home, file } = await begun();
  const child = spawn(process.execPath, [PROGRAM, 'run', home], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.stdout.destroy();
  await eventually('the certificate', () => existsSync(file));
  rmSync(join(home, 'out/default/secrets/web'), { recursive: true });
  await eventually('the certificate again', () => existsSync(file), 30_000);
  expect(await end(child)).toBe(0);
}, 60_000);

test.skipIf(!existsSync('/dev/full'))(
  'check exits UNKNOWN, and says why, if its output cannot be written',
  async () => {
    const { home } = await begun();
    await handoverAs(['run', home, '--once']);
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'check', '--home', `dir:${home}`], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 3, stderr: 'standard output is lost (ENOSPC)\n' });
  },
);

test.skipIf(!existsSync('/dev/full'))(
  'a command other than check fails if its output cannot be written',
  () => {
    const full = openSync('/dev/full', 'w');
    const { status } = spawnSync(process.execPath, [PROGRAM, '--version'], {
      stdio: ['ignore', full, 'pipe'],
    });
    expect(status).toBe(1);
  },
);
