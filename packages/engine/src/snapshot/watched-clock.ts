import type { ClockDoubt } from '@handover/core';
import { hour, type Instant, instant, minute } from '@handover/material';
import type { HomeClock, SetBack } from './snapshot.ts';

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

/** Another machine's clock, compared with our own monotonic clock whenever it is read. */
export class WatchedClock implements HomeClock {
  readonly #read: () => Instant;
  readonly #monotonic: () => number;
  readonly #tolerance: number;
  readonly #setBacks: SetBack[] = [];
  #steadySince: Instant | undefined;
  #belief: Belief | undefined;
  #last: { readonly shown: Instant; readonly at: number } | undefined;

  /** `steadySince`: from when on it is believed; undefined: always. */
  constructor(
    read: () => Instant,
    monotonic: () => number,
    options: { readonly tolerance: number; readonly steadySince?: Instant | undefined },
  ) {
    this.#read = read;
    this.#monotonic = monotonic;
    this.#tolerance = options.tolerance;
    this.#steadySince = options.steadySince;
  }

  now(): Instant {
    const shown = this.#read();
    const at = this.#monotonic();
    if (this.#last !== undefined) {
      const expected = instant(this.#last.shown + at - this.#last.at);
      const leapt = Math.abs(shown - expected) > this.#tolerance;
      if (leapt) this.#steadySince = shown;
      if (this.#belief !== undefined) this.#belief = believe(this.#belief, shown, at, leapt);
      if (shown < expected - this.#tolerance) this.#setBacks.push({ from: expected, to: shown });
    }
    this.#belief ??= { offset: shown - at, doubt: undefined };
    this.#last = { shown, at };
    return shown;
  }

  steadySince(): Instant | undefined {
    this.now();
    return this.#steadySince;
  }

  readonly doubt = (): ClockDoubt | undefined => {
    this.now();
    return this.#belief?.doubt;
  };

  readonly setBacks = (): readonly SetBack[] => {
    this.now();
    return this.#setBacks;
  };
}
