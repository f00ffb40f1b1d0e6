import type { Instant } from '@handover/material';
import type { Follower, FollowerEvents, Material } from './follower.ts';
import type { Outcome } from './outcome.ts';
import { ageOf, failureStatus, isoTime, type SourceStatus } from './status.ts';

/** Material that follows its files. */
export abstract class Followed<Label extends string, Value extends Material> {
  readonly #follower: Follower<Label, Value>;

  /** @internal */
  constructor(follower: Follower<Label, Value>) {
    this.#follower = follower;
  }

  protected get follower(): Follower<Label, Value> {
    return this.#follower;
  }

  /** When the material in use was loaded, in milliseconds since 1970. */
  get loadedAt(): Instant {
    return this.#follower.loaded.loadedAt;
  }

  /**
   * Reads the files now. Never throws: the result says what went wrong, and the last good material stays in use.
   *
   * @example
   * ```ts
   * const { reason } = await trust.reload();
   * console.log(reason); // unchanged
   * ```
   */
  reload(): Promise<Outcome> {
    return this.#follower.reload();
  }

  /**
   * Calls the listener after each change (`reloaded`), when new files could not be used (`kept`), or when connections in
   * use were ended (`cut`). Without a listener for them, `kept` and `cut` are process warnings.
   *
   * @example
   * ```ts
   * trust
   *   .on('reloaded', ({ loads, hash }) => console.log(`load ${loads}: ${hash}`))
   *   .on('kept', ({ reason, error }) => console.log(`${reason}: ${error.message}`));
   * ```
   */
  on<Name extends keyof FollowerEvents>(name: Name, listener: (event: FollowerEvents[Name]) => void): this {
    this.#follower.listeners.on(name, listener);
    return this;
  }

  /**
   * Removes a listener.
   *
   * @example
   * ```ts
   * const listener = () => console.log('new CA bundle');
   * trust.on('reloaded', listener).off('reloaded', listener);
   * ```
   */
  off<Name extends keyof FollowerEvents>(name: Name, listener: (event: FollowerEvents[Name]) => void): this {
    this.#follower.listeners.off(name, listener);
    return this;
  }

  /**
   * The material in use, as {@link serveStatus} shows it. Nothing in it is secret.
   *
   * @example
   * ```ts
   * const { kind, loads } = trust.status();
   * console.log(kind, loads); // trust 1
   * ```
   */
  abstract status(): SourceStatus;

  protected commonStatus(): Pick<SourceStatus, 'path' | 'loads' | 'loadedAt' | 'age' | 'lastFailure'> {
    const { loads, loadedAt } = this.#follower.loaded;
    return {
      path: this.#follower.path,
      loads,
      loadedAt: isoTime(loadedAt),
      age: ageOf(loadedAt),
      ...failureStatus(this.#follower.failure),
    };
  }
}
