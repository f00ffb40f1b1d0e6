import { readFileSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { HandoverError } from '@handover/material';
import { type Files, fileError } from './files.ts';

interface Holder {
  readonly pid: number;
  /** When the process began, as the kernel counts: a pid is used again after a while. */
  readonly started: string;
  readonly host: string;
}

const HEARTBEAT_MS = 10_000;
/** A container that was killed leaves a lock with a host name and a pid that mean nothing in the next one. */
const FOREIGN_STALE_MS = 60_000;

/** Field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and brackets (proc(5)). Empty where there is no /proc. */
const startOf = (pid: number): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
};

const isAlive = ({ pid, started }: Holder): boolean => {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return started === '' || startOf(pid) === started;
};

const parse = (bytes: Uint8Array | undefined): Holder | undefined => {
  try {
    const value = JSON.parse(Buffer.from(bytes ?? []).toString('utf8')) as Holder;
    return Number.isInteger(value?.pid) && value.pid > 0 ? value : undefined;
  } catch {
    return undefined;
  }
};

const isStale = (files: Files, path: string, holder: Holder | undefined): boolean => {
  if (holder === undefined) return true; // made whole by link(): what cannot be read is not ours
  if (holder.host === hostname()) return !isAlive(holder);
  return Date.now() - (files.facts(path)?.mtimeMs ?? 0) > FOREIGN_STALE_MS;
};

export const lockHolder = (files: Files, directory: string): { readonly pid: number } | undefined => {
  const path = `${directory}/lock`;
  const holder = parse(files.read(path));
  return holder === undefined || isStale(files, path, holder) ? undefined : holder;
};

/** Takes the lock of a home, or says who has it. The lock of a process that is gone is taken over. */
export async function takeLock(files: Files, directory: string): Promise<{ release(): Promise<void> }> {
  const path = `${directory}/lock`;
  const mine = `${directory}/lock.${process.pid}.${startOf(process.pid)}`;
  const self: Holder = { pid: process.pid, started: startOf(process.pid), host: hostname() };
  await files.remove(mine);
  await files.create(mine, `${JSON.stringify(self)}\n`, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 5; attempt++) {
      try {
        await files.link(mine, path);
        return held(files, path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw fileError(error, 'make', path);
      }
      const holder = parse(files.read(path));
      if (holder !== undefined && !isStale(files, path, holder)) throw heldBy(holder, path);
      await moveAside(files, path, `${mine}.stale`, holder);
    }
  } finally {
    await files.remove(mine);
  }
  throw new HandoverError('HOME_LOCKED', `${path} changes hands all the time; try again`, {
    path,
    retry: 'later',
  });
}

const heldBy = ({ pid, host }: Holder, path: string): HandoverError => {
  const elsewhere = host === hostname() ? '' : ` on ${host}`;
  return new HandoverError(
    'HOME_LOCKED',
    `process ${pid}${elsewhere} is already running on this directory; stop it first, or let it do the work`,
    { path, retry: 'later' },
  );
};

/** Two may find the same stale lock: what was moved is looked at again, and put back if it was a new one. */
const moveAside = async (
  files: Files,
  path: string,
  aside: string,
  stale: Holder | undefined,
): Promise<void> => {
  try {
    await files.rename(path, aside);
  } catch {
    return; // somebody else was faster
  }
  const moved = parse(files.read(aside));
  if (moved?.pid !== stale?.pid || moved?.started !== stale?.started)
    await files.link(aside, path).catch(() => {});
  await files.remove(aside);
};

const held = (files: Files, path: string): { release(): Promise<void> } => {
  const beat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // Gone with its directory: whoever writes next will find out.
    }
  }, HEARTBEAT_MS).unref();
  return {
    release: async () => {
      clearInterval(beat);
      if (parse(files.read(path))?.pid === process.pid) await files.remove(path);
    },
  };
};
