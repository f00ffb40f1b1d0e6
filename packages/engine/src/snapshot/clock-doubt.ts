import type { ClockDoubt } from '@handover/core';
import { hour, type Instant, instant, minute } from '@handover/material';

/** Clocks are corrected by seconds or minutes, and certificates begin an hour back: a larger jump ahead is not trusted at once. */
const LEAP_MS = hour;
/** A clock that is wrong at boot is corrected long before. */
const BELIEVED_AFTER_MS = 10 * minute;

/** How far a clock is trusted: its time less that of a monotonic counter. */
export interface Belief {
  readonly offset: number;
  readonly doubt: ClockDoubt | undefined;
}

/** Whether to trust a clock that shows `shown` beside `counter`. `leapt`: it did not run evenly since the last look. */
export const believe = (before: Belief, shown: Instant, counter: number, leapt: boolean): Belief => {
  const offset = shown - counter;
  // A little ahead, or set back: objects dated in the future show that themselves.
  if (offset - before.offset <= LEAP_MS) return { offset, doubt: undefined };
  if (before.doubt !== undefined && !leapt && shown >= before.doubt.until)
    return { offset, doubt: undefined };
  if (before.doubt !== undefined && !leapt) return before;
  const doubt: ClockDoubt = {
    since: shown,
    before: instant(before.offset + counter),
    until: instant(shown + BELIEVED_AFTER_MS),
  };
  return { offset: before.offset, doubt };
};
