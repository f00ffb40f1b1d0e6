import { type Instant, instant } from '@handover/material';

/** The API server's time, from the Date header of its answers: whole seconds. */
export class ServerClock {
  readonly #monotonic: () => number;
  #seen: Instant | undefined;
  #seenAt = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** The last Date plus the time since then; undefined before the first answer. Goes back only when the server's clock did. */
  now(): Instant | undefined {
    return this.#seen === undefined ? undefined : instant(this.#seen + this.#monotonic() - this.#seenAt);
  }

  /**
   * Takes the Date of an answer whose request left `took` milliseconds ago. The server wrote the Date between then and now (for a
   * watch: at its beginning). Only a Date outside that span means that the server's clock was set.
   * @internal
   */
  see(date: string | undefined, took: number): void {
    const parsed = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(parsed)) return;
    const now = this.now();
    // A Date has whole seconds. Within a second, counting on is more exact.
    if (now === undefined || parsed > now || parsed + 1000 + took < now) {
      this.#seen = instant(parsed);
      this.#seenAt = this.#monotonic();
    }
  }
}
