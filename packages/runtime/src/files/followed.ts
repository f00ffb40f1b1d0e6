import { type Instant, iso } from '@handover/material';
import { mustBeEvent } from '../arguments.ts';
import type { Outcome } from '../outcome.ts';
import { ageOf, failureStatus, type SourceStatus } from '../status/status.ts';
import type { Follower } from './follower.ts';
import { EVENTS, type FollowerEvents, type Material } from './follower-spec.ts';

type Listener<Event> = (event: Event) => void;

/** Material that follows its files. */
export abstract class Followed<
  Label extends string,
  Value extends Material,
  Events extends { [Name in keyof FollowerEvents]: object } = FollowerEvents,
> {
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
   * Calls the listener after each change (`reloaded`), when new files could not be used (`kept`), when connections in use
   * were ended (`cut`), and when a leaf in use is in the last tenth of its life (`expiring`) or past it (`expired`). Without
   * a listener each of them but `reloaded` is a process warning. A listener that throws is a process warning too.
   *
   * @example
   * ```ts
   * trust
   *   .on('reloaded', ({ loads, hash }) => console.log(`load ${loads}: ${hash}`))
   *   .on('kept', ({ reason, error }) => console.log(`${reason}: ${error.message}`));
   * ```
   */
  on<Name extends keyof FollowerEvents>(name: Name, listener: Listener<Events[Name]>): this {
    mustBeEvent(name, listener, EVENTS);
    this.#follower.listeners.on(name, listener as Listener<FollowerEvents[keyof FollowerEvents]>);
    return this;
  }

  /**
   * Calls the listener at the next event of that name, and not again.
   *
   * @example
   * ```ts
   * trust.once('reloaded', () => console.log('the first new CA bundle'));
   * ```
   */
  once<Name extends keyof FollowerEvents>(name: Name, listener: Listener<Events[Name]>): this {
    mustBeEvent(name, listener, EVENTS);
    this.#follower.listeners.on(name, listener as Listener<FollowerEvents[keyof FollowerEvents]>, true);
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
  off<Name extends keyof FollowerEvents>(name: Name, listener: Listener<Events[Name]>): this {
    mustBeEvent(name, listener, EVENTS);
    this.#follower.listeners.off(name, listener as Listener<FollowerEvents[keyof FollowerEvents]>);
    return this;
  }

  /**
   * Ends following: watches, timers and idle connections close. The last good material stays usable. The same as aborting
   * the `signal` that it was opened with.
   *
   * @example
   * ```ts
   * trust.close();
   * const { reason } = await trust.reload();
   * console.log(reason); // unchanged
   * ```
   */
  close(): void {
    this.#follower.close();
  }

  /**
   * Closes at the end of a block.
   *
   * @example
   * ```ts
   * import { openTrust } from '@handover/runtime';
   *
   * await using own = await openTrust('/etc/mesh/ca.crt');
   * console.log(own.status().loads); // 1
   * ```
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
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

  protected commonStatus(): Pick<
    SourceStatus,
    'path' | 'watching' | 'loads' | 'loadedAt' | 'age' | 'lastFailure'
  > {
    const { watching } = this.#follower;
    const { loads, loadedAt } = this.#follower.inUse;
    return {
      path: this.#follower.path,
      ...(watching === undefined ? {} : { watching }),
      loads,
      loadedAt: iso(loadedAt),
      age: ageOf(loadedAt, this.#follower.options.clock.now()),
      ...failureStatus(this.#follower.failure),
    };
  }
}
