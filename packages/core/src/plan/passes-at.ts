import { type Instant, instant } from '@handover/material';
import type { Observed } from './observed.ts';
import { type Plan, plan } from './plan.ts';
import type { Policy } from './policy.ts';

/** Dates to try: objects that were written one after another let a step pass one after another. */
const MOST_DATES = 8;
const isWrite = (kind: string): boolean =>
  kind.startsWith('write-') || kind === 'stamp' || kind === 'reissue';

/**
 * When a step that waits is taken, if nothing happens but that time passes; within a tenth of the time left. Undefined: no
 * time alone ends the wait, or what happens by then is not known.
 */
export const passesAt = (seen: Observed, policy: Policy, made: Plan, now: Instant): Instant | undefined => {
  if (made.blockedBy.length === 0) return undefined;
  let { wakeAt } = made;
  for (let date = 0; date < MOST_DATES && wakeAt !== undefined; date++) {
    const at: Instant = wakeAt;
    const later = plan(seen, policy, at);
    if (later.actions.some(({ kind }) => !isWrite(kind))) return at;
    if (later.blockedBy.length === 0 || later.wakeAt === undefined) return undefined;
    wakeAt = instant(Math.max(later.wakeAt, at + (at - now) / 10));
  }
  return undefined;
};
