import type { Clock, Duration, Instant } from '@handover/material';
import type { Limits } from './fair-semaphore.ts';

export interface QueueOptions<Key = string> {
  /** Does the work for one key; returns when the key is due again. */
  readonly work: (key: Key, signal: AbortSignal) => Promise<Instant | undefined>;
  /** What due times are compared with. */
  readonly now: () => Instant;
  /** Waits by this clock. */
  readonly clock: Clock;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly onError: (key: Key, error: unknown, retryAt: Instant) => void;
  /** First wait after a failure. Default 200 ms. */
  readonly leastBackoff?: Duration;
  /** Longest wait after failures. Default 30 s. */
  readonly mostBackoff?: Duration;
  /** Keys with the same text are the same work. Default: `String`. */
  readonly textOf?: (key: Key) => string;
  /** The queue works on one key of a lane at a time. Default: one lane for all keys. */
  readonly laneOf?: (key: Key) => string;
  /** A share gets at most `limits.each` places, so that it cannot take them all. Default: one share for all keys. */
  readonly shareOf?: (key: Key) => string;
  /** How many keys the queue works on at once. Default: one. */
  readonly limits?: Limits;
}

interface Due<Key> {
  readonly key: Key;
  readonly at: Instant;
  readonly lane: string;
  readonly share: string;
}

/**
 * Work by key: each key is in the queue at most once, at the earliest time asked for. Among due keys, the share that was served
 * longest ago comes first, then the earliest key: slow work of a share delays only that share.
 */
export class WorkQueue<Key = string> {
  readonly #options: QueueOptions<Key>;
  readonly #textOf: (key: Key) => string;
  readonly #due = new Map<string, Due<Key>>();
  readonly #failures = new Map<string, number>();
  readonly #lanes = new Set<string>();
  readonly #busy = new Map<string, number>();
  /** When each share was last served, as a count. */
  readonly #served = new Map<string, number>();
  #turn = 0;
  #wake: () => void = () => {};

  constructor(options: QueueOptions<Key>) {
    this.#options = options;
    this.#textOf = options.textOf ?? String;
  }

  /** Adds `key` at time `at`; an earlier time stands. */
  add(key: Key, at: Instant = this.#options.now()): void {
    const text = this.#textOf(key);
    const known = this.#due.get(text);
    if (known !== undefined && known.at <= at) return;
    const { laneOf = () => '', shareOf = () => '' } = this.#options;
    this.#due.set(text, { key, at, lane: laneOf(key), share: shareOf(key) });
    this.#wake();
  }

  /** Forgets a key, such as that of a deleted resource. */
  drop(key: Key): void {
    this.#due.delete(this.#textOf(key));
    this.#failures.delete(this.#textOf(key));
  }

  /** How many keys are due now. */
  get due(): number {
    const now = this.#options.now();
    let due = 0;
    for (const { at } of this.#due.values()) if (at <= now) due++;
    return due;
  }

  get size(): number {
    return this.#due.size;
  }

  /** Works until `signal`, then finishes the work in progress. */
  async run(signal: AbortSignal): Promise<void> {
    const { limits = { inAll: 1, each: 1 }, now } = this.#options;
    const working = new Set<Promise<void>>();
    const broken: unknown[] = [];
    while (!signal.aborted && broken.length === 0) {
      const at = now();
      const next = working.size < limits.inAll ? this.#next(at, limits.each) : undefined;
      if (next !== undefined) {
        const done: Promise<void> = this.#once(next, signal)
          .catch((error: unknown) => void broken.push(error))
          .finally(() => {
            working.delete(done);
            this.#wake();
          });
        working.add(done);
        continue;
      }
      // A due key without a place gets another look when some work ends.
      let wait = Number.MAX_SAFE_INTEGER;
      for (const due of this.#due.values()) if (due.at > at) wait = Math.min(wait, due.at - at);
      await this.#sleep(wait, signal);
    }
    await Promise.all(working);
    if (broken.length > 0) throw broken[0];
  }

  async #once({ key, lane, share }: Due<Key>, signal: AbortSignal): Promise<void> {
    const { work, now, onError } = this.#options;
    const text = this.#textOf(key);
    this.#due.delete(text);
    this.#lanes.add(lane);
    this.#busy.set(share, (this.#busy.get(share) ?? 0) + 1);
    this.#served.set(share, ++this.#turn);
    try {
      const again = await work(key, signal);
      this.#failures.delete(text);
      if (again !== undefined) this.add(key, again);
    } catch (error) {
      if (signal.aborted) return;
      const retryAt = (now() + this.#backoff(text)) as Instant;
      this.add(key, retryAt);
      onError(key, error, retryAt);
    } finally {
      this.#lanes.delete(lane);
      const left = (this.#busy.get(share) ?? 0) - 1;
      if (left > 0) this.#busy.set(share, left);
      else this.#busy.delete(share);
    }
  }

  /** Doubles with each failure up to `mostBackoff`; jitter over the upper half keeps many keys from coming back at once. */
  #backoff(text: string): number {
    const { leastBackoff = 200, mostBackoff = 30_000, random } = this.#options;
    const failures = this.#failures.get(text) ?? 0;
    this.#failures.set(text, failures + 1);
    const whole = Math.min(mostBackoff, leastBackoff * 2 ** Math.min(failures, 30));
    return whole / 2 + (whole / 2) * random();
  }

  /** The key to work on now; undefined: no due key has a place. */
  #next(now: Instant, each: number): Due<Key> | undefined {
    let first: Due<Key> | undefined;
    let longestAgo = 0;
    for (const due of this.#due.values()) {
      const { at, lane, share } = due;
      if (at > now || this.#lanes.has(lane) || (this.#busy.get(share) ?? 0) >= each) continue;
      const served = this.#served.get(share) ?? 0;
      if (first === undefined || served < longestAgo || (served === longestAgo && at < first.at)) {
        first = due;
        longestAgo = served;
      }
    }
    return first;
  }

  #sleep(wait: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        this.#wake = () => {};
        resolve();
      };
      const timer = this.#options.clock.after(wait, end);
      signal.addEventListener('abort', end, { once: true });
      this.#wake = end;
    });
  }
}
