import { after, type Instant } from '@handover/material';
import { cut } from '../cache/bounds.ts';

const LEAST_MS = 5_000;
const MOST_MS = 300_000;
/** An API server that refuses an object may repeat all that stands in it. */
const MOST_SAID_BY_SERVER = 1_000;

/** Objects that the API server would not let us write, and when to try again. */
export class Obstacles {
  readonly #known = new Map<
    string,
    { readonly why: string; readonly until: Instant; readonly times: number }
  >();

  met(object: string, why: string, now: Instant): void {
    const times = (this.#known.get(object)?.times ?? 0) + 1;
    const until = after(now, Math.min(LEAST_MS * 2 ** (times - 1), MOST_MS));
    // In the order in which they were met: those in front were not tried for the longest time.
    this.#known.delete(object);
    this.#known.set(object, { why: cut(why, MOST_SAID_BY_SERVER), until, times });
    this.#forget(now);
  }

  /** What has not been tried although it was due long ago is not asked for any more: its resource was deleted. */
  #forget(now: Instant): void {
    for (const [object, { until }] of this.#known) {
      if (now < until + 2 * MOST_MS) return;
      this.#known.delete(object);
    }
  }

  overcome(object: string): void {
    this.#known.delete(object);
  }

  why(object: string, now: Instant): string | undefined {
    const found = this.#known.get(object);
    return found === undefined || now >= found.until ? undefined : found.why;
  }

  /** Why it could not be written last; also when it may be tried again, until a write has landed. */
  last(object: string): string | undefined {
    return this.#known.get(object)?.why;
  }

  /** When the next of them may be tried again. */
  nextTry(now: Instant): Instant | undefined {
    const later = [...this.#known.values()].map(({ until }) => until).filter((until) => until > now);
    return later.length === 0 ? undefined : (Math.min(...later) as Instant);
  }
}
