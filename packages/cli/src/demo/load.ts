import type { Clock } from '@handover/material';
import type { Running } from './service.ts';

const WORKERS = 12;

/** Handshakes in every direction, at a steady rate, until `signal`. */
export class Load {
  handshakes = 0;
  failures = 0;
  /** The first few, by name. */
  readonly problems: string[] = [];
  readonly #services: readonly Running[];
  readonly #perSecond: number;
  readonly #clock: Clock;

  constructor(services: readonly Running[], perSecond: number, clock: Clock) {
    this.#services = services;
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  async run(signal: AbortSignal): Promise<void> {
    const pairs = this.#services.flatMap((from) =>
      this.#services.filter((to) => to !== from).map((to) => [from, to] as const),
    );
    let next = 0;
    const began = this.#clock.monotonic();
    const worker = async (): Promise<void> => {
      while (!signal.aborted) {
        const turn = next++;
        const wait = began + (turn * 1000) / this.#perSecond - this.#clock.monotonic();
        if (wait > 0) await this.#clock.sleep(wait);
        const pair = pairs[turn % pairs.length];
        if (pair === undefined || signal.aborted) return;
        const problem = await pair[0].call(pair[1]);
        this.handshakes++;
        if (problem === undefined) continue;
        this.failures++;
        if (this.problems.length < 5) this.problems.push(`${pair[0].name} → ${pair[1].name}: ${problem}`);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, worker));
  }
}
