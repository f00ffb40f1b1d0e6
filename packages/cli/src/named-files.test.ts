import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { describe, expect, test } from 'vitest';
import { handover } from '../test/capture.ts';

const COMMANDS: Readonly<Record<string, (path: string) => readonly string[]>> = {
  'inspect FILE': (path) => ['inspect', path],
  'certgen -f FILE': (path) => ['certgen', '-f', path, '--home', `dir:${path}-home`],
  'tls check --profile-file FILE': (path) => ['tls', 'check', '127.0.0.1:1', '--profile-file', path],
  'operator -f FILE': (path) => ['operator', '-f', path, '--namespace', 'x'],
};

describe.skipIf(process.platform !== 'linux').each(Object.entries(COMMANDS))('%s', (command, args) => {
  test(`${command} never waits for a FIFO`, async () => {
    const path = join(temporaryFolder(), 'fifo');
    execFileSync('mkfifo', [path]);
    const { code, stderr } = await handover(args(path));
    expect(stderr).toBe(`FILE_NOT_REGULAR: ${path} is a FIFO; name a regular file\n`);
    expect(code).toBe(1);
  });

  test(`${command} never reads a device`, async () => {
    const path = join(temporaryFolder(), 'endless');
    symlinkSync('/dev/zero', path);
    const { code, stderr } = await handover(args(path));
    expect(stderr).toBe(`FILE_NOT_REGULAR: ${path} is a device; name a regular file\n`);
    expect(code).toBe(1);
  });
});
