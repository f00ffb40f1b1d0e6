import type { AuthorityId } from '@handover/engine';
import { instant } from '@handover/material';
import type { View } from '@handover/operator';
import type { Context } from '../context.ts';
import { type Progress, standing, type Wait } from '../directory/carry-out.ts';
import { pause } from '../directory/pause.ts';
import { LiveLine, whoIsAwaited } from '../directory/waiting.ts';
import { CliError } from '../error.ts';

const LOOK_EVERY_MS = 500;

/** Waits for the operator to carry out what was asked for, and says on stderr what it waits for and how long. */
export async function watchOperator(
  { home, look }: View,
  id: AuthorityId,
  context: Context,
  wait: Wait | undefined,
): Promise<Progress> {
  const line = new LiveLine(context.stderr);
  try {
    let progress = await standing(look, id);
    if (wait === undefined) return progress;
    const signal = context.untilStopped();
    const end = performance.now() + wait.ms;
    while (!wait.until(progress)) {
      const { phase, blockedBy, wakeAt } = progress.status;
      const waiting = { phase, blockedBy, dueAt: wakeAt === null ? undefined : instant(Date.parse(wakeAt)) };
      const now = home.clock.now();
      line.show({ ...waiting, endsAt: instant(now + end - performance.now()) }, now);
      if (signal.aborted || performance.now() >= end) {
        const why = signal.aborted ? 'was interrupted' : 'took too long';
        throw new CliError(
          'ROTATION_UNFINISHED',
          `waiting for ${id} ${why}: ${whoIsAwaited(waiting)}; the operator goes on with it, or look whether one runs`,
          { path: id, retry: 'later' },
        );
      }
      await pause(LOOK_EVERY_MS, signal);
      progress = await standing(look, id);
    }
    return progress;
  } finally {
    line.clear();
  }
}
