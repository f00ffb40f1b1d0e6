import { utimesSync } from 'node:fs';
import { type Clock, type HandoverError, type Instant, instant } from '@handover/material';
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

export interface LockOptions {
  readonly files: Files;
  /** The directory that the lock is in. */
  readonly directory: string;
  readonly clock: Clock;
  readonly times?: LockTimes | undefined;
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

const silentFor = ({ files, clock }: LockOptions, path: string): number =>
  clock.now() - (files.facts(path)?.mtimeMs ?? 0);

const isStale = (options: LockOptions, path: string, holder: ProcessIdentity | undefined): boolean => {
  if (holder === undefined) return true;
  if (isWithinSight(holder, ownIdentity())) return !isAlive(holder);
  return silentFor(options, path) > (options.times ?? DEFAULT_TIMES).staleMs;
};

/** When the lock was last touched by a process that is gone; undefined: it was given back. */
export const lastTouched = ({ files, directory }: LockOptions): Instant | undefined => {
  const touched = files.facts(`${directory}/lock`)?.mtimeMs;
  return touched === undefined ? undefined : instant(Math.floor(touched));
};

export const lockHolder = (options: LockOptions): Pick<ProcessIdentity, 'pid' | 'stays'> | undefined => {
  const path = `${options.directory}/lock`;
  const holder = read(options.files, path);
  return holder === undefined || isStale(options, path, holder) ? undefined : holder;
};

/** Takes the lock of a home, or names the process that holds it. Takes over the lock of a dead process. */
export async function takeLock(options: LockOptions, stays = false): Promise<HeldLock> {
  const { files, directory, clock } = options;
  const path = `${directory}/lock`;
  const self: ProcessIdentity = { ...ownIdentity(), ...(stays ? { stays } : {}) };
  const mine = `${path}.${self.token}`;
  await files.create(mine, `${JSON.stringify(self)}\n`, { mode: 0o600 });
  try {
    try {
      touch(mine, clock); // a file server's clock may be another
    } catch {
      // Its own time stays, where times cannot be set.
    }
    for (let attempt = 0; attempt < 5; attempt++) {
      try {
        await files.link(mine, path);
        await sweep(options);
        return held(options, path, self.token);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw homeFileError(error, 'create', path);
      }
      const holder = read(files, path);
      if (holder !== undefined && !isStale(options, path, holder)) throw heldBy(options, holder, path);
      await moveAside(options, path, `${mine}.stale`, holder);
    }
  } finally {
    await files.remove(mine);
  }
  const why = `cannot take the lock ${path}: other processes keep taking it; try again`;
  throw new EngineError('HOME_LOCKED', why, { path, retry: 'later' });
}

const heldBy = (options: LockOptions, holder: ProcessIdentity, path: string): HandoverError => {
  const { pid, host } = holder;
  const { staleMs } = options.times ?? DEFAULT_TIMES;
  const seen = Math.max(0, Math.round(silentFor(options, path) / 1_000));
  return new EngineError(
    'HOME_LOCKED',
    isWithinSight(holder, ownIdentity())
      ? `process ${pid} is already running on this directory; stop it first, or let it do the work`
      : `process ${pid} in another container or on another machine (host ${host}) runs on this directory, last seen ${seen} s ago; stop it; if it no longer exists, wait until it has not been seen for ${staleMs / 1_000} s, or remove ${quoted(path)}`,
    { path, retry: 'later' },
  );
};

/** Two processes may find the same stale lock, so this checks again after the move, and puts a new or live lock back. */
const moveAside = async (
  options: LockOptions,
  path: string,
  aside: string,
  stale: ProcessIdentity | undefined,
): Promise<void> => {
  const { files } = options;
  try {
    await files.rename(path, aside);
  } catch {
    return; // another process was faster
  }
  const moved = read(files, aside);
  if (moved?.token !== stale?.token || !isStale(options, aside, moved))
    await files.link(aside, path).catch(() => {});
  await files.remove(aside);
};

/** Removes the `lock.*` files of processes that were killed while they tried to take the lock. */
const sweep = async (options: LockOptions): Promise<void> => {
  const { files, directory, times = DEFAULT_TIMES } = options;
  for (const name of files.list(directory)) {
    const path = `${directory}/${name}`;
    if (name.startsWith('lock.') && silentFor(options, path) > times.staleMs) await files.remove(path);
  }
};

const touch = (path: string, clock: Clock): void => {
  const now = new Date(clock.now());
  utimesSync(path, now, now);
};

const held = (
  { files, clock, times: { beatMs } = DEFAULT_TIMES }: LockOptions,
  path: string,
  token: string,
): HeldLock => {
  const isOurs = (): boolean => read(files, path)?.token === token;
  let lost = false;
  let beatAt = clock.monotonic();
  const beat = (): void => {
    if (lost || !isOurs()) return;
    beatAt = clock.monotonic();
    touch(path, clock);
  };
  const timer = clock
    .every(beatMs, () => {
      try {
        beat();
      } catch {
        // The directory is gone: the next write fails on that.
      }
    })
    .unref();
  return {
    check: () => {
      // After a pause another process may be about to take the lock; it checks the time once more before it does.
      if (clock.monotonic() - beatAt > 2 * beatMs) beat();
      lost ||= !isOurs();
      if (!lost) return;
      timer.cancel();
      throw new EngineError(
        'HOME_LOCK_LOST',
        `lost the lock ${path} while this process was paused: another process took or removed it; this process writes nothing more; make sure that only one process runs on this directory`,
        { path },
      );
    },
    release: async () => {
      timer.cancel();
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
    overwrite: guard(files.overwrite),
    symlink: guard(files.symlink),
    link: guard(files.link),
    rename: guard(files.rename),
    remove: guard(files.remove),
  };
};
