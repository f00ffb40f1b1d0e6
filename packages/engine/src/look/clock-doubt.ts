import type { ClockDoubt } from '@handover/core';
import { hour, type Instant, instant, minute } from '@handover/material';

/** A clock is put right by seconds or minutes, and certificates begin an hour back: what goes further ahead is not believed at once. */
export const LEAP_MS = hour;
/** A clock that is wrong at its start is put right long before. */
export const BELIEVED_AFTER_MS = 10 * minute;

/** How far a clock is believed: what it shows less what a counter shows that nobody can set. */
export interface Belief {
  readonly offset: number;
  readonly doubt: ClockDoubt | undefined;
}

/** What is believed of a clock that shows `shown` beside `counter`. `leapt`: it did not run evenly since the last look. */
export const believe = (before: Belief, shown: Instant, counter: number, leapt: boolean): Belief => {
  const offset = shown - counter;
  // Ahead by little, or set back: what is dated ahead of it is seen by its dates.
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
