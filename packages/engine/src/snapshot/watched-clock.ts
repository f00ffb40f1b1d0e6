import type { ClockDoubt } from '@handover/core';
import { type Instant, instant } from '@handover/material';
import { type Belief, believe } from './clock-doubt.ts';
import type { HomeClock, SetBack } from './snapshot.ts';

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
