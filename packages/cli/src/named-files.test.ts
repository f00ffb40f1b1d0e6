import { execFileSync, spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { BIN, build, folder, start } from '../test/real-process.ts';

beforeAll(build, 120_000);

const COMMANDS: Readonly<Record<string, (path: string) => readonly string[]>> = {
  'inspect FILE': (path) => ['inspect', path],
  'certgen -f FILE': (path) => ['certgen', '-f', path, '--home', `dir:${path}-home`],
  'tls check --profile-file FILE': (path) => ['tls', 'check', '127.0.0.1:1', '--profile-file', path],
  'operator -f FILE': (path) => ['operator', '-f', path, '--namespace', 'x'],
};

describe.skipIf(process.platform !== 'linux').each(Object.entries(COMMANDS))('%s', (_, args) => {
  test('never waits for a FIFO', async () => {
    const path = join(folder(), 'fifo');
    execFileSync('mkfifo', [path]);
    const { code, stderr } = await start(args(path)).ended(10_000);
    expect(stderr).toBe(`FILE_NOT_REGULAR: ${path} is a FIFO; name a regular file\n`);
    expect(code).toBe(1);
  });

  test('never reads a device', async () => {
    const path = join(folder(), 'endless');
    symlinkSync('/dev/zero', path);
    const { code, stderr } = await start(args(path)).ended(10_000);
    expect(stderr).toBe(`FILE_NOT_REGULAR: ${path} is a device; name a regular file\n`);
    expect(code).toBe(1);
  });
});

test('inspect reads what a command of the shell writes', () => {
  const fixture = fileURLToPath(new URL('../test/fixtures/same-name-1.pem', import.meta.url));
  const script = '"$0" "$1" inspect <(sleep 0.2; cat "$2")';
  const ran = spawnSync('bash', ['-c', script, process.execPath, BIN, fixture], { encoding: 'utf8' });
  expect(ran.stderr).toBe('');
  expect(ran.stdout).toContain('subject: CN=Same Name\n');
});
