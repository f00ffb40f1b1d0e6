import {
  type AuthorityId,
  type AuthorityRecord,
  type AuthorityStatus,
  type DirectoryHome,
  passOnce,
  statusOf,
  work,
} from '@handover/engine';
import { instant } from '@handover/material';
import { pause } from '@handover/runtime/pause';
import type { Context } from '../context.ts';
import { CliError } from '../error.ts';
import { LiveLine, type Waiting, whoIsAwaited } from './waiting.ts';

export interface Progress {
  readonly status: AuthorityStatus;
  readonly record: AuthorityRecord | undefined;
}

const LOOK_EVERY_MS = 250;

const waitingFor = ({ phase, blockedBy, wakeAt }: AuthorityStatus): Waiting => ({
  phase,
  blockedBy,
  dueAt: wakeAt === null ? undefined : instant(Date.parse(wakeAt)),
});

/** Where things stand with one authority. */
export const standing = async (home: DirectoryHome, id: AuthorityId): Promise<Progress> => {
  const { status } = await statusOf(home, home.load(), id);
  const [authority] = status.authorities;
  if (authority === undefined) throw new TypeError(`no status of ${id}`);
  return { status: authority, record: await home.authorities.load(id) };
};

/**
 * Lets what was asked for be done: by the process that runs on this directory, or else here, under its lock. Waits for
 * `until` if asked to, and says on stderr whom it waits for and how long.
 */
export async function carryOut(
  home: DirectoryHome,
  id: AuthorityId,
  context: Context,
  wait: { readonly until: (progress: Progress) => boolean; readonly ms: number } | undefined,
): Promise<Progress & { readonly by: number | undefined }> {
  const holder = home.holder();
  const lock = holder === undefined ? await home.lock() : undefined;
  const line = new LiveLine(context.stderr);
  try {
    if (lock !== undefined) await passOnce(home, home.load(), () => {});
    let progress = await standing(home, id);
    if (wait === undefined) return { ...progress, by: holder?.pid };
    const signal = context.untilStopped();
    const end = performance.now() + wait.ms;
    while (!wait.until(progress)) {
      const waiting = waitingFor(progress.status);
      const endsAt = instant(context.now() + end - performance.now());
      line.show({ ...waiting, endsAt }, context.now());
      if (signal.aborted || performance.now() >= end) {
        const why = signal.aborted ? 'was interrupted' : 'took too long';
        throw new CliError(
          'ROTATION_UNFINISHED',
          `waiting for ${id} ${why}: ${whoIsAwaited(waiting)}; it goes on with \`handover run\`, or ask again with the same id`,
          { path: id, retry: 'later' },
        );
      }
      await pause(LOOK_EVERY_MS, signal);
      if (lock !== undefined) {
        const catalogue = home.load();
        for (let passes = 0; passes < 64; passes++)
          if (!(await work(home, catalogue, `Authority ${id}`, () => {})).busy) break;
      }
      progress = await standing(home, id);
    }
    return { ...progress, by: holder?.pid };
  } finally {
    line.clear();
    await lock?.release();
  }
}
