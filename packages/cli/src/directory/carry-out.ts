import {
  type AuthorityId,
  type AuthorityRecord,
  type AuthorityStatus,
  type DirectoryHome,
  passOnce,
  standingOf,
  type TakeLook,
  work,
} from '@handover/engine';
import { instant } from '@handover/material';
import type { Context } from '../context.ts';
import { CliError } from '../error.ts';
import { pause } from './pause.ts';
import { LiveLine, type Waiting, whoIsAwaited } from './waiting.ts';

export interface Progress {
  readonly status: AuthorityStatus;
  readonly record: AuthorityRecord | undefined;
}

export type Carried = Progress & {
  /** What carries it out, or would, as the end of a sentence. */
  readonly by: string;
};

export interface Wait {
  readonly until: (progress: Progress) => boolean;
  readonly ms: number;
}

const LOOK_EVERY_MS = 250;

const waitingFor = ({ phase, blockedBy, wakeAt }: AuthorityStatus): Waiting => ({
  phase,
  blockedBy,
  dueAt: wakeAt === null ? undefined : instant(Date.parse(wakeAt)),
});

/** Where things stand with one authority: status and record are of one observation. */
export const standing = async (take: TakeLook, id: AuthorityId): Promise<Progress> => {
  const { status, observation } = await standingOf(take, id);
  return { status, record: observation.record };
};

/**
 * Lets what was asked for be done: by the process that runs on this directory, or else here, under its lock. Waits for
 * `until` if asked to, and says on stderr what it waits for and how long.
 */
export async function carryOut(
  home: DirectoryHome,
  id: AuthorityId,
  context: Context,
  wait: Wait | undefined,
): Promise<Carried> {
  const holder = home.holder();
  const by =
    holder === undefined
      ? 'run `handover run`, or this command again with its id'
      : `process ${holder.pid} carries it out`;
  const look: TakeLook = () => {
    home.load();
    return home.fresh();
  };
  const lock = holder === undefined ? await home.lock() : undefined;
  const line = new LiveLine(context.stderr);
  try {
    if (lock !== undefined) await passOnce(home, home.load(), () => {});
    let progress = await standing(look, id);
    if (wait === undefined) return { ...progress, by };
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
      progress = await standing(look, id);
    }
    return { ...progress, by };
  } finally {
    line.clear();
    await lock?.release();
  }
}
