import type { Instant } from '@handover/material';

/** Lines about one object, and about all objects of one namespace: so many at once, and one more after each `everyMs`. */
const LIMITS = {
  object: { atOnce: 5, everyMs: 60_000 },
  namespace: { atOnce: 60, everyMs: 2_000 },
} as const;
type Limit = (typeof LIMITS)[keyof typeof LIMITS];

/** As many objects and namespaces as are remembered; the ones that were silent for longest are forgotten. */
const MOST_KNOWN = 10_000;

interface Allowance {
  /** How many lines are left. */
  readonly left: number;
  readonly at: Instant;
}

/** The namespace in the name of a piece of work or of an object; empty: it lies in none. */
const namespaceIn = (what: string): string => /([a-z0-9-]+)\//.exec(what)?.[1] ?? '';

/** Keeps what one tenant causes from filling the log. */
export class LineLimits {
  readonly #now: () => Instant;
  readonly #known = new Map<string, Allowance>();
  readonly #leftOut = new Map<string, number>();

  constructor(now: () => Instant) {
    this.#now = now;
  }

  /** How many lines about the object were left out since its last; undefined: this one is left out too. */
  take(what: string): number | undefined {
    const object = `object ${what}`;
    const namespace = `namespace ${namespaceIn(what)}`;
    const mayPass = this.#left(object, LIMITS.object) >= 1 && this.#left(namespace, LIMITS.namespace) >= 1;
    if (!mayPass) {
      this.#set(this.#leftOut, object, (this.#leftOut.get(object) ?? 0) + 1);
      return undefined;
    }
    for (const [key, limit] of [
      [object, LIMITS.object],
      [namespace, LIMITS.namespace],
    ] as const)
      this.#set(this.#known, key, { left: this.#left(key, limit) - 1, at: this.#now() });
    const leftOut = this.#leftOut.get(object) ?? 0;
    this.#leftOut.delete(object);
    return leftOut;
  }

  #left(key: string, { atOnce, everyMs }: Limit): number {
    const known = this.#known.get(key);
    if (known === undefined) return atOnce;
    return Math.min(atOnce, known.left + Math.max(0, this.#now() - known.at) / everyMs);
  }

  #set<T>(map: Map<string, T>, key: string, value: T): void {
    map.delete(key);
    map.set(key, value);
    const [oldest] = map.keys();
    if (map.size > MOST_KNOWN && oldest !== undefined) map.delete(oldest);
  }
}
