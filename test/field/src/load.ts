import { Heard } from '../../../packages/operator/test/rotation/heard.ts';
import type { Figures } from '../../../packages/operator/test/rotation/traffic.ts';

/** One way in which calls go: who calls whom. `call` makes one full handshake; undefined: it succeeded, else why not. */
export interface Direction {
  readonly name: string;
  readonly call: () => Promise<string | undefined>;
}

const MOST_UNDER_WAY = 30;
const MOST_REASONS = 20;

/** Calls in every direction, at the same rate, until it is stopped. */
export class Load {
  readonly #directions: readonly Direction[];
  readonly #rate: number;
  readonly #counts = new Map<string, { ok: number; failed: number }>();
  readonly #reasons: string[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #heard = new Heard();
  #leftOut = 0;

  /** `rate`: calls per second in each direction. */
  constructor(directions: readonly Direction[], rate: number) {
    this.#directions = directions;
    this.#rate = rate;
  }

  start(): void {
    for (const [index, direction] of this.#directions.entries()) {
      const period = 1_000 / this.#rate;
      // Spread over the period, so that they do not all begin in one moment.
      const begin = (): void => {
        this.#timers.push(setInterval(() => this.#call(direction), period));
      };
      this.#timers.push(setTimeout(begin, (period * index) / this.#directions.length));
    }
  }

  #call({ name, call }: Direction): void {
    if (this.#underWay.size >= MOST_UNDER_WAY) {
      this.#leftOut++;
      return;
    }
    const made = call().then((problem) => {
      const count = this.#counts.get(name) ?? { ok: 0, failed: 0 };
      this.#counts.set(name, count);
      if (problem === undefined) {
        count.ok++;
        this.#heard.add(name);
      } else {
        count.failed++;
        if (this.#reasons.length < MOST_REASONS)
          this.#reasons.push(`${new Date().toISOString()} ${name}: ${problem}`);
      }
      this.#underWay.delete(made);
    });
    this.#underWay.add(made);
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await Promise.all(this.#underWay);
  }

  /** What happened while `work` ran. Directions without a call are there too, with 0. */
  async during(work: () => Promise<unknown>): Promise<Figures> {
    const before = new Map([...this.#counts].map(([name, count]) => [name, { ...count }]));
    const [reasons, leftOut, from] = [this.#reasons.length, this.#leftOut, performance.now()];
    await work();
    const to = performance.now();
    const directions = Object.fromEntries(
      this.#directions.map(({ name }) => {
        const now = this.#counts.get(name) ?? { ok: 0, failed: 0 };
        const then = before.get(name) ?? { ok: 0, failed: 0 };
        const gap = this.#heard.longestGap(name, from, to);
        return [name, { ok: now.ok - then.ok, failed: now.failed - then.failed, unreached: 0, gap }];
      }),
    );
    const sum = (of: 'ok' | 'failed'): number =>
      Object.values(directions).reduce((total, count) => total + count[of], 0);
    return {
      seconds: (to - from) / 1_000,
      handshakes: sum('ok') + sum('failed'),
      failed: sum('failed'),
      leftOut: this.#leftOut - leftOut,
      directions,
      reasons: this.#reasons.slice(reasons),
    };
  }
}
