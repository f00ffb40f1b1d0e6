import { type Instant, instant } from '@handover/material';
import type { Clock, SetBack } from './ports.ts';

/** A clock of somebody else's, watched against our own monotonic one whenever it is read. */
export class WatchedClock implements Clock {
  readonly #read: () => Instant;
  readonly #monotonic: () => number;
  readonly #tolerance: number;
  readonly #setBacks: SetBack[] = [];
  #steadySince: Instant | undefined;
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
      if (Math.abs(shown - expected) > this.#tolerance) this.#steadySince = shown;
      if (shown < expected - this.#tolerance) this.#setBacks.push({ from: expected, to: shown });
    }
    this.#last = { shown, at };
    return shown;
  }

  steadySince(): Instant | undefined {
    this.now();
    return this.#steadySince;
  }

  readonly setBacks = (): readonly SetBack[] => {
    this.now();
    return this.#setBacks;
  };
}
