import { type AuthorityId, statusOf } from '@handover/engine';
import { instant } from '@handover/material';
import type { View } from '@handover/operator';
import { pause } from '@handover/runtime/pause';
import type { Context } from '../context.ts';
import type { Progress } from '../directory/carry-out.ts';
import { LiveLine, whoIsAwaited } from '../directory/waiting.ts';
import { CliError } from '../error.ts';

const LOOK_EVERY_MS = 500;

const standing = async (view: View, id: AuthorityId): Promise<Progress> => {
  const { status } = await statusOf(view.home, (await view.resolved()).catalogue, id);
  const [authority] = status.authorities;
  if (authority === undefined) throw new TypeError(`no status of ${id}`);
  return { status: authority, record: await view.home.authorities.load(id) };
};

/** Waits for the operator to carry out what was asked for, and says on stderr whom it waits for and how long. */
export async function watchOperator(
  view: View,
  id: AuthorityId,
  context: Context,
  wait: { readonly until: (progress: Progress) => boolean; readonly ms: number } | undefined,
): Promise<Progress> {
  const line = new LiveLine(context.stderr);
  try {
    let progress = await standing(view, id);
    if (wait === undefined) return progress;
    const signal = context.untilStopped();
    const end = performance.now() + wait.ms;
    while (!wait.until(progress)) {
      const { phase, blockedBy, wakeAt } = progress.status;
      const waiting = { phase, blockedBy, dueAt: wakeAt === null ? undefined : instant(Date.parse(wakeAt)) };
      line.show({ ...waiting, endsAt: instant(view.now() + end - performance.now()) }, view.now());
      if (signal.aborted || performance.now() >= end) {
        const why = signal.aborted ? 'was interrupted' : 'took too long';
        throw new CliError(
          'ROTATION_UNFINISHED',
          `waiting for ${id} ${why}: ${whoIsAwaited(waiting)}; the operator goes on with it, or look whether one runs`,
          { path: id, retry: 'later' },
        );
      }
      await pause(LOOK_EVERY_MS, signal);
      progress = await standing(view, id);
    }
    return progress;
  } finally {
    line.clear();
  }
}
