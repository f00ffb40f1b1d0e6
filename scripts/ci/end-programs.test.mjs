import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';

const FOREVER = ['-e', 'setInterval(() => {}, 1000)'];
const { HANDOVER_PROGRAM_MS: LIMIT } = process.env;
afterEach(() => {
  process.env.HANDOVER_PROGRAM_MS = LIMIT;
});

describe('a program that a test starts', () => {
  test('a program that never ends is ended after the limit of its tier', async () => {
    process.env.HANDOVER_PROGRAM_MS = '300';
    const child = spawn(process.execPath, FOREVER);
    expect(await new Promise((resolve) => void child.once('exit', (_, signal) => resolve(signal)))).toBe(
      'SIGKILL',
    );
    expect(spawnSync(process.execPath, FOREVER).error).toMatchObject({ code: 'ETIMEDOUT' });
    expect(() => execFileSync(process.execPath, FOREVER)).toThrow('ETIMEDOUT');
  });

  test('a program with a limit of its own keeps it', () => {
    process.env.HANDOVER_PROGRAM_MS = '1';
    const print = ['-e', 'process.stdout.write("ran")'];
    expect(execFileSync(process.execPath, print, { timeout: 20_000 }).toString()).toBe('ran');
  });

  test('a program that ends in time answers as ever', async () => {
    const print = ['-e', 'process.stdout.write("ran")'];
    expect((await promisify(execFile)(process.execPath, print)).stdout).toBe('ran');
    expect(execFileSync(process.execPath, print, { encoding: 'utf8' })).toBe('ran');
    expect(spawnSync(process.execPath, print).stdout.toString()).toBe('ran');
  });
});
