import type { Instant } from '@handover/material';

const WINDOW_MS = 300_000;
const MOST = 10;

/** How often each target was put right though nothing about its Bundle had changed: another program may want it otherwise. */
export class Restores {
  readonly #times = new Map<string, readonly Instant[]>();

  /** Counts one more; false: there were too many of late, and the target is left for now. */
  may(target: string, now: Instant): boolean {
    const recent = (this.#times.get(target) ?? []).filter((time) => now - time < WINDOW_MS);
    const may = recent.length < MOST;
    this.#times.set(target, may ? [...recent, now] : recent);
    for (const [key, times] of this.#times)
      if (times.every((time) => now - time >= WINDOW_MS)) this.#times.delete(key);
    return may;
  }
}
