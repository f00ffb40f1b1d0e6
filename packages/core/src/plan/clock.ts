import { type Duration, day, hour, type Instant, instant, iso } from '@handover/material';
import type { Blocker } from './gates.ts';
import type { ClockDoubt } from './observed.ts';

/** The home's clock, frozen for one plan; remembers the next instant at which an answer would change. */
export class Clock {
  readonly now: Instant;
  /** It jumped ahead and is not trusted yet. */
  readonly doubt: ClockDoubt | undefined;
  readonly #steadySince: number;
  #wakeAt: number = Number.POSITIVE_INFINITY;

  constructor(now: Instant, steadySince: Instant | undefined, doubt?: ClockDoubt) {
    this.now = now;
    this.doubt = doubt;
    this.#steadySince = steadySince ?? Number.NEGATIVE_INFINITY;
    if (doubt !== undefined) this.reached(doubt.until);
  }

  reached(at: number): boolean {
    if (this.now >= at) return true;
    this.#wakeAt = Math.min(this.#wakeAt, at);
    return false;
  }

  /** Whether a date is over. By a doubted clock nothing is: it may be years ahead. */
  ended(at: number): boolean {
    return this.reached(at) && this.doubt === undefined;
  }

  /** Whether `age` has passed since `from`, as far as the clock can be trusted. */
  aged(from: Instant, age: number): boolean {
    // Dated in the future: written before the clock was set back, so before it began to run evenly.
    const fromFuture = from > this.now && Number.isFinite(this.#steadySince);
    return this.reached((fromFuture ? this.#steadySince : Math.max(from, this.#steadySince)) + age);
  }

  /**
   * Whether something dated `at` came more than `age` after `from`. Two dates can be compared only when the clock ran evenly
   * between them: after a step ahead what followed at once looks late, after a step back what went before looks later.
   */
  cameAfter(at: Instant, from: number, age: Duration): boolean {
    return at <= this.now && at > Math.max(from, this.#steadySince) + age;
  }

  get wakeAt(): Instant | undefined {
    return Number.isFinite(this.#wakeAt) ? instant(this.#wakeAt) : undefined;
  }
}

const amountOf = (time: number): string =>
  time >= 2 * day ? `${Math.round(time / day)} days` : `${Math.round(time / hour)} h`;

/** The blocker while the clock is doubted. */
export const clockBlocker = ({ since, before, until }: ClockDoubt): Blocker => ({
  consumer: 'the clock',
  waitsFor: `to run evenly until ${iso(until)}: it jumped ahead by ${amountOf(since - before)}, to ${iso(since)}; if that time is right, go on at once with handover clock --confirm`,
  since,
});
