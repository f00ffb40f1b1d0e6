import { utimesSync } from 'node:fs';
import type { HandoverError } from '@handover/material';
import { EngineError } from '../../error.ts';
import { type Files, homeFileError } from '../disk/files.ts';
import { quoted } from '../disk/trusted-path.ts';
import { isAlive, isWithinSight, ownIdentity, type ProcessIdentity } from './process-identity.ts';

export interface LockTimes {
  /** How often the holder touches the lock, in milliseconds. Default 10 s. */
  readonly beatMs: number;
  /** A holder in another pid namespace or on another host counts as dead after this long without a touch. Default 60 s. */
  readonly staleMs: number;
}

const DEFAULT_TIMES: LockTimes = { beatMs: 10_000, staleMs: 60_000 };

export interface HeldLock {
  /** Throws when this process no longer holds the lock. Call it right before every visible write. */
  check(): void;
  release(): Promise<void>;
}

const read = (files: Files, path: string): ProcessIdentity | undefined => {
  try {
    const text = Buffer.from(files.read(path) ?? []).toString('utf8');
    const value = JSON.parse(text) as ProcessIdentity;
    return Number.isInteger(value?.pid) && value.pid > 0 ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // link() creates the lock whole: an unreadable one is not ours
    throw error;
  }
};

const silentFor = (files: Files, path: string): number => Date.now() - (files.facts(path)?.mtimeMs ?? 0);

const isStale = (
  files: Files,
  path: string,
  holder: ProcessIdentity | undefined,
  times: LockTimes,
): boolean => {
  if (holder === undefined) return true;
  if (isWithinSight(holder, ownIdentity())) return !isAlive(holder);
  return silentFor(files, path) > times.staleMs;
};

export const lockHolder = (
  files: Files,
  directory: string,
  times: LockTimes = DEFAULT_TIMES,
): Pick<ProcessIdentity, 'pid' | 'stays'> | undefined => {
  const path = `${directory}/lock`;
  const holder = read(files, path);
  return holder === undefined || isStale(files, path, holder, times) ? undefined : holder;
};

/** Takes the lock of a home, or names the process that holds it. Takes over the lock of a dead process. */
export async function takeLock(
  files: Files,
  directory: string,
  times: LockTimes = DEFAULT_TIMES,
  stays = false,
): Promise<HeldLock> {
  const path = `${directory}/lock`;
  const self: ProcessIdentity = { ...ownIdentity(), ...(stays ? { stays } : {}) };
  const mine = `${path}.${self.token}`;
  await files.create(mine, `${JSON.stringify(self)}\n`, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 5; attempt++) {
      try {
        await files.link(mine, path);
        await sweep(files, directory, times);
        return held(files, path, self.token, times);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw homeFileError(error, 'create', path);
      }
      const holder = read(files, path);
      if (holder !== undefined && !isStale(files, path, holder, times))
        throw heldBy(files, holder, path, times);
      await moveAside(files, path, `${mine}.stale`, holder, times);
    }
  } finally {
    await files.remove(mine);
  }
  const why = `cannot take the lock ${path}: other processes keep taking it; try again`;
  throw new EngineError('HOME_LOCKED', why, { path, retry: 'later' });
}

const heldBy = (files: Files, holder: ProcessIdentity, path: string, times: LockTimes): HandoverError => {
  const { pid, host } = holder;
  const seen = Math.max(0, Math.round(silentFor(files, path) / 1_000));
  return new EngineError(
    'HOME_LOCKED',
    isWithinSight(holder, ownIdentity())
      ? `process ${pid} is already running on this directory; stop it first, or let it do the work`
      : `process ${pid} in another container or on another machine (host ${host}) runs on this directory, last seen ${seen} s ago; stop it; if it no longer exists, wait until it has not been seen for ${times.staleMs / 1_000} s, or remove ${quoted(path)}`,
    { path, retry: 'later' },
  );
};

/** Two processes may find the same stale lock, so this checks again after the move, and puts a new or live lock back. */
const moveAside = async (
  files: Files,
  path: string,
  aside: string,
  stale: ProcessIdentity | undefined,
  times: LockTimes,
): Promise<void> => {
  try {
    await files.rename(path, aside);
  } catch {
    return; // another process was faster
  }
  const moved = read(files, aside);
  if (moved?.token !== stale?.token || !isStale(files, aside, moved, times))
    await files.link(aside, path).catch(() => {});
  await files.remove(aside);
};

/** Removes the `lock.*` files of processes that were killed while they tried to take the lock. */
const sweep = async (files: Files, directory: string, times: LockTimes): Promise<void> => {
  for (const name of files.list(directory)) {
    const path = `${directory}/${name}`;
    if (name.startsWith('lock.') && silentFor(files, path) > times.staleMs) await files.remove(path);
  }
};

const held = (files: Files, path: string, token: string, { beatMs }: LockTimes): HeldLock => {
  const isOurs = (): boolean => read(files, path)?.token === token;
  let lost = false;
  let beatAt = performance.now();
  const beat = (): void => {
    if (lost || !isOurs()) return;
    beatAt = performance.now();
    utimesSync(path, new Date(), new Date());
  };
  const timer = setInterval(() => {
    try {
      beat();
    } catch {
      // The directory is gone: the next write fails on that.
    }
  }, beatMs).unref();
  return {
    check: () => {
      // After a pause another process may be about to take the lock; it checks the time once more before it does.
      if (performance.now() - beatAt > 2 * beatMs) beat();
      lost ||= !isOurs();
      if (!lost) return;
      clearInterval(timer);
      throw new EngineError(
        'HOME_LOCK_LOST',
        `lost the lock ${path} while this process was paused: another process took or removed it; this process writes nothing more; make sure that only one process runs on this directory`,
        { path },
      );
    },
    release: async () => {
      clearInterval(timer);
      if (!lost && isOurs()) await files.remove(path);
    },
  };
};

/** The same files; every write checks the lock first. */
export const fenced = (files: Files, check: () => void): Files => {
  const guard =
    <Args extends unknown[]>(write: (...args: Args) => Promise<void>) =>
    async (...args: Args): Promise<void> => {
      check();
      try {
        await write(...args);
      } catch (error) {
        // The new holder of the lock may have cleared away what this write was about to use.
        check();
        throw error;
      }
    };
  return {
    ...files,
    makeDirectory: guard(files.makeDirectory),
    create: guard(files.create),
    symlink: guard(files.symlink),
    link: guard(files.link),
    rename: guard(files.rename),
    remove: guard(files.remove),
  };
};
