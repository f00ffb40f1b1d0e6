// Real programs, which are killed after a second.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { HookHomes, hookOf, pass, sh } from '../../../test/hook-home.ts';

const homes = new HookHomes();

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
};

test('a hook that does not end is stopped with its children, and its result says so', async () => {
  const leaf = sh('trap "" TERM; echo $$ > pids; sleep 300 & echo $! >> pids; echo warming up >&2; wait');
  const home = homes.with({ leaf }, { hookTimes: { reloadMs: 1_000 } });
  await pass(home);
  expect(await hookOf(home)).toMatchObject({
    state: 'failed',
    exitCode: null,
    message: 'sh did not end within 1 s; it and its children were stopped, stderr: "warming up"',
  });
  const pids = readFileSync(join(home.path, 'pids'), 'utf8').trim().split('\n').map(Number);
  expect(pids).toHaveLength(2);
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), 60_000);
});
