import { type Duration, type Instant, instant } from '@handover/material';

/** The home's clock, frozen for one plan; remembers the next instant at which an answer would change. */
export class Clock {
  readonly now: Instant;
  readonly #steadySince: number;
  #wakeAt: number = Number.POSITIVE_INFINITY;

  constructor(now: Instant, steadySince: Instant | undefined) {
    this.now = now;
    this.#steadySince = steadySince ?? Number.NEGATIVE_INFINITY;
  }

  reached(at: number): boolean {
    if (this.now >= at) return true;
    this.#wakeAt = Math.min(this.#wakeAt, at);
    return false;
  }

  /** Whether `age` has passed since `from`, as far as the clock can be trusted. */
  aged(from: Instant, age: Duration): boolean {
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
