import type { Instant } from '@handover/material';
import type { Follower, FollowerEvents, Material } from './follower.ts';
import type { Outcome } from './outcome.ts';
import { ageOf, failureStatus, isoTime, type SourceStatus } from './status.ts';

/** What every followed source offers. */
export abstract class Followed<Label extends string, Value extends Material> {
  readonly #follower: Follower<Label, Value>;

  protected constructor(follower: Follower<Label, Value>) {
    this.#follower = follower;
  }

  get loadedAt(): Instant {
    return this.#follower.loaded.loadedAt;
  }

  /** Reads the files now. Never throws: what went wrong is in the result, and the last good material stays. */
  reload(): Promise<Outcome> {
    return this.#follower.reload();
  }

  on<Name extends keyof FollowerEvents>(name: Name, listener: (event: FollowerEvents[Name]) => void): this {
    this.#follower.listeners.on(name, listener);
    return this;
  }

  off<Name extends keyof FollowerEvents>(name: Name, listener: (event: FollowerEvents[Name]) => void): this {
    this.#follower.listeners.off(name, listener);
    return this;
  }

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
