import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive, type ProcessId } from './process-id.ts';

const holderOf = (path: string): ProcessId | undefined => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessId;
  } catch {
    return undefined;
  }
};

const take = (path: string): boolean => {
  try {
    writeFileSync(path, JSON.stringify(identify(process.pid)), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

/**
 * Runs the work while no other process does. It only saves double work: binaries are renamed into place as a whole, so two
 * processes that take over the lock of the same dead process at the same time do no harm.
 */
export async function whileLocked<T>(
  path: string,
  onWait: (holder: ProcessId | undefined) => void,
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  let unreadable = 0;
  while (!take(path)) {
    const holder = holderOf(path);
    // A lock that was just created and not yet written is unreadable too.
    unreadable = holder === undefined ? unreadable + 1 : 0;
    if (holder === undefined ? unreadable > 3 : !isAlive(holder)) rmSync(path, { force: true });
    else {
      onWait(holder);
      await sleep(1_000);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}
