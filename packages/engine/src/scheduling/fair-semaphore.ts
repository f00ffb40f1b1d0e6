export interface Limits {
  /** How many may work at once. */
  readonly inAll: number;
  /** How many of one share may work at once: fewer than `inAll`, so that no share can take every place. */
  readonly each: number;
}

/** A semaphore for several shares: each share waits in its own line, and the lines are served round-robin. */
export class FairSemaphore {
  readonly #limits: Limits;
  #busy = 0;
  readonly #busyOf = new Map<string, number>();
  /** In the order in which they are served next. */
  readonly #lines = new Map<string, (() => void)[]>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  async take<T>(share: string, work: () => Promise<T>): Promise<T> {
    await this.#enter(share);
    try {
      return await work();
    } finally {
      this.#leave(share);
      this.#serve();
    }
  }

  #enter(share: string): Promise<void> {
    return new Promise((resolve) => {
      const line = this.#lines.get(share);
      if (line === undefined) this.#lines.set(share, [resolve]);
      else line.push(resolve);
      this.#serve();
    });
  }

  #leave(share: string): void {
    this.#busy--;
    const left = (this.#busyOf.get(share) ?? 0) - 1;
    if (left > 0) this.#busyOf.set(share, left);
    else this.#busyOf.delete(share);
  }

  #serve(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next();
  }

  #next(): (() => void) | undefined {
    if (this.#busy >= this.#limits.inAll) return undefined;
    for (const [share, line] of this.#lines) {
      const busy = this.#busyOf.get(share) ?? 0;
      if (busy >= this.#limits.each) continue;
      const [first, ...rest] = line;
      // Served now, so last in the next round.
      this.#lines.delete(share);
      if (rest.length > 0) this.#lines.set(share, rest);
      this.#busy++;
      this.#busyOf.set(share, busy + 1);
      return first;
    }
    return undefined;
  }
}
