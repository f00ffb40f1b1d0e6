import { type Instant, instant } from '@handover/material';

/** The API server's own time, by the Date header of its answers. A second is all it tells. */
export class ServerClock {
  readonly #monotonic: () => number;
  #seen: Instant | undefined;
  #seenAt = 0;

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  /** The Date of the last answer; undefined before the first. */
  get last(): Instant | undefined {
    return this.#seen;
  }

  /** The last Date plus what has gone by here since; undefined before the first answer. Never goes back. */
  now(): Instant | undefined {
    return this.#seen === undefined ? undefined : instant(this.#seen + this.#monotonic() - this.#seenAt);
  }

  /**
   * The Date of an answer, and how long ago its question left: it was written somewhere between then and now, and a watch's at its
   * beginning. Only a Date that does not fit in between tells of a clock that was put ahead or back.
   * @internal
   */
  see(date: string | undefined, took: number): Instant | undefined {
    const parsed = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(parsed)) return undefined;
    const now = this.now();
    // Whole seconds: within one the own reckoning is finer.
    if (now === undefined || parsed > now || parsed + 1000 + took < now) {
      this.#seen = instant(parsed);
      this.#seenAt = this.#monotonic();
    }
    return instant(parsed);
  }
}

const answered = new WeakMap<object, Instant>();

/** @internal */
export function rememberDate<Answer extends object>(answer: Answer, date: Instant | undefined): Answer {
  if (date !== undefined) answered.set(answer, date);
  return answer;
}

/** The API server's Date of the answer that this object (from get, create, update, patch) or list came in. */
export const answeredAt = (answer: object): Instant | undefined => answered.get(answer);
