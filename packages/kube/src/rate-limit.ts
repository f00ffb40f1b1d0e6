import type { Clock } from '@handover/material';
import { KubeError } from './error.ts';
import { wait } from './wait.ts';

export interface Rate {
  readonly perSecond: number;
  /** Requests that may leave at once after a pause. */
  readonly burst: number;
}

/** A token bucket. Requests leave in the order in which they came. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(rate: Rate, clock: Clock) {
    if (!(rate.perSecond > 0 && rate.burst >= 1)) {
      throw new KubeError('OPTION_INVALID', '`rate` needs `perSecond` above 0 and `burst` of at least 1');
    }
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = rate.burst;
    this.#at = clock.monotonic();
  }

  /** Takes a token; answers how many milliseconds to wait before using it. */
  reserve(): number {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(
      this.#rate.burst,
      this.#tokens + ((now - this.#at) / 1000) * this.#rate.perSecond,
    );
    this.#at = now;
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#rate.perSecond) * 1000;
  }

  async take(signal: AbortSignal, about: string): Promise<void> {
    const ms = this.reserve();
    if (ms === 0) return;
    try {
      await wait(this.#clock, ms, signal, about);
    } catch (error) {
      this.#tokens += 1; // the request does not leave
      throw error;
    }
  }
}
