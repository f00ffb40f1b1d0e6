import type { Duration, Instant } from '@handover/material';

export interface QueueOptions {
  /** Does the work for one key; says when it is due again. */
  readonly work: (key: string, signal: AbortSignal) => Promise<Instant | undefined>;
  readonly now: () => Instant;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly onError: (key: string, error: unknown, retryAt: Instant) => void;
  /** First wait after a failure. Default 200 ms. */
  readonly leastBackoff?: Duration;
  /** Longest wait after failures. Default 30 s. */
  readonly mostBackoff?: Duration;
}

/** setTimeout fires at once for anything longer. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Work by key: each key at most once in the queue, at the earliest time anybody asked for; one at a time. */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #due = new Map<string, Instant>();
  readonly #failures = new Map<string, number>();
  #wake: () => void = () => {};

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Asks for `key` at `at`; an earlier wish stands. */
  add(key: string, at: Instant = this.#options.now()): void {
    const known = this.#due.get(key);
    if (known !== undefined && known <= at) return;
    this.#due.set(key, at);
    this.#wake();
  }

  /** Forgets a key, such as that of a resource that has gone. */
  drop(key: string): void {
    this.#due.delete(key);
    this.#failures.delete(key);
  }

  /** How many keys are due now. */
  get due(): number {
    const now = this.#options.now();
    let due = 0;
    for (const at of this.#due.values()) if (at <= now) due++;
    return due;
  }

  get size(): number {
    return this.#due.size;
  }

  /** Works until `signal`; what is being worked on then is finished first. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#earliest();
      const wait = next === undefined ? LONGEST_TIMER : next[1] - this.#options.now();
      if (next === undefined || wait > 0) await this.#sleep(Math.min(wait, LONGEST_TIMER), signal);
      else await this.#once(next[0], signal);
    }
  }

  async #once(key: string, signal: AbortSignal): Promise<void> {
    const { work, now, onError } = this.#options;
    this.#due.delete(key);
    try {
      const again = await work(key, signal);
      this.#failures.delete(key);
      if (again !== undefined) this.add(key, again);
    } catch (error) {
      if (signal.aborted) return;
      const retryAt = (now() + this.#backoff(key)) as Instant;
      this.add(key, retryAt);
      onError(key, error, retryAt);
    }
  }

  /** Doubles per failure up to the most, and is spread over its upper half so that many do not come back at once. */
  #backoff(key: string): number {
    const { leastBackoff = 200, mostBackoff = 30_000, random } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const whole = Math.min(mostBackoff, leastBackoff * 2 ** Math.min(failures, 30));
    return whole / 2 + (whole / 2) * random();
  }

  #earliest(): readonly [string, Instant] | undefined {
    let first: readonly [string, Instant] | undefined;
    for (const entry of this.#due) if (first === undefined || entry[1] < first[1]) first = entry;
    return first;
  }

  #sleep(wait: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#wake = () => {};
        resolve();
      };
      const timer = setTimeout(end, Math.max(0, wait));
      signal.addEventListener('abort', end, { once: true });
      this.#wake = end;
    });
  }
}
