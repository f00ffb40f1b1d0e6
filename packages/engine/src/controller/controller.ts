import { after, type Clock, type HandoverError, type Instant } from '@handover/material';
import type { Limits } from '../scheduling/fair-semaphore.ts';
import { WorkQueue } from '../scheduling/work-queue.ts';
import type { Meters } from '../snapshot/meters.ts';
import type { HomeClock } from '../snapshot/snapshot.ts';
import type { Listener } from './event.ts';
import { type Key, keyText, laneOf, shareOf } from './key.ts';
import { isConflict } from './reconcile.ts';

/** What came of one pass. */
export interface Result {
  /** When to look again; undefined: when something changes. */
  readonly requeueAt: Instant | undefined;
  /** Whether something was done, after which there may be more to do. */
  readonly acted?: boolean;
  /** Objects that cannot be written, such as folders with files of others. */
  readonly obstacles?: readonly HandoverError[];
}

/** One function per kind of work. */
export type Reconcilers = {
  readonly [Kind in Key['kind']]?: (key: Extract<Key, { readonly kind: Kind }>) => Promise<Result>;
};

export interface ControllerOptions {
  readonly clock: Pick<HomeClock, 'now'>;
  readonly timers: Clock;
  readonly reconcilers: Reconcilers;
  readonly on: Listener;
  readonly meters?: Pick<Meters, 'queue'> | undefined;
  /** Passes at once. Default: one. */
  readonly limits?: Limits;
}

/** Lost races in a row on the same work that are tried again at once. */
const MOST_RACES = 5;

/** One queue and one reconciler per kind, for every home. A home says what changed (`add`) and which resources there are (`keep`). */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue<Key>;
  readonly #races = new Map<string, number>();
  readonly #done = new Set<string>();
  #kept = new Map<string, Key>();

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { clock, timers, on, limits } = options;
    this.#queue = new WorkQueue<Key>({
      now: () => clock.now(),
      clock: timers,
      random: Math.random,
      work: (key) => this.#pass(key),
      onError: (key, error, retryAt) => on({ kind: 'failed', what: keyText(key), error, retryAt }),
      textOf: keyText,
      laneOf,
      shareOf,
      ...(limits === undefined ? {} : { limits }),
    });
  }

  add(keys: Iterable<Key>, wait = 0): void {
    const at = after(this.#options.clock.now(), wait);
    for (const key of keys) this.#queue.add(key, at);
  }

  /**
   * From now on these resources are kept, and no others. Returns those that have gone. New ones are worked on now, the others after
   * `waitOf`; undefined: nothing has changed for it.
   */
  setDesiredKeys(keys: readonly Key[], waitOf: (key: Key) => number | undefined = () => 0): readonly Key[] {
    const before = this.#kept;
    const kept = new Map(keys.map((key) => [keyText(key), key]));
    const gone = [...before].flatMap(([text, key]) => (kept.has(text) ? [] : [key]));
    for (const key of gone) {
      this.#queue.drop(key);
      this.#done.delete(keyText(key));
      this.#races.delete(keyText(key));
    }
    this.#kept = kept;
    for (const key of keys) {
      const wait = before.has(keyText(key)) ? waitOf(key) : 0;
      if (wait !== undefined) this.add([key], wait);
    }
    return gone;
  }

  get kept(): Iterable<Key> {
    return this.#kept.values();
  }

  /** Whether a pass over this work once found nothing left to do. */
  hasDone(key: Key): boolean {
    return this.#done.has(keyText(key));
  }

  /** Works until `signal`; passes under way are finished first. */
  run(signal: AbortSignal): Promise<void> {
    this.#options.meters?.queue(() => ({ due: this.#queue.due, planned: this.#queue.size }));
    return this.#queue.run(signal);
  }

  async #pass(key: Key): Promise<Instant | undefined> {
    const text = keyText(key);
    const reconcile = this.#options.reconcilers[key.kind] as ((key: Key) => Promise<Result>) | undefined;
    if (reconcile === undefined) throw new TypeError(`no reconciler for ${text}`);
    try {
      const { requeueAt, acted = false, obstacles = [] } = await reconcile(key);
      this.#races.delete(text);
      if (!acted) this.#done.add(text);
      for (const error of obstacles)
        this.#options.on({ kind: 'failed', what: error.path ?? text, error, retryAt: requeueAt });
      return requeueAt;
    } catch (error) {
      const races = (this.#races.get(text) ?? 0) + 1;
      this.#races.set(text, races);
      // Another writer was faster: no failure, look again.
      if (isConflict(error) && races <= MOST_RACES) return this.#options.clock.now();
      this.#races.delete(text);
      throw error;
    }
  }
}
