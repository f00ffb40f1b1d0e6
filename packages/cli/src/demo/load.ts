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

  constructor(services: readonly Running[], perSecond: number) {
    this.#services = services;
    this.#perSecond = perSecond;
  }

  async run(signal: AbortSignal): Promise<void> {
    const pairs = this.#services.flatMap((from) =>
      this.#services.filter((to) => to !== from).map((to) => [from, to] as const),
    );
    let next = 0;
    const began = performance.now();
    const worker = async (): Promise<void> => {
      while (!signal.aborted) {
        const turn = next++;
        const wait = began + (turn * 1000) / this.#perSecond - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
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
