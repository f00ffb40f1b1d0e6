import type { Report } from '@handover/sim';
import type { Output } from '../context.ts';

const PLAIN_LINES = 4;

/** One line that changes on a terminal, a few plain ones elsewhere, none where nobody looks: stderr is not a terminal and
 * stdout is for a program. */
export class Progress {
  readonly #output: Output;
  readonly #seeds: number;
  readonly #silent: boolean;
  #quarter = 0;

  constructor(output: Output, seeds: number, forProgram: boolean) {
    this.#output = output;
    this.#seeds = seeds;
    this.#silent = forProgram && output.isTTY !== true;
  }

  start(): void {
    if (!this.#silent)
      this.#output.write(`0 of ${this.#seeds} worlds${this.#output.isTTY === true ? '' : '\n'}`);
  }

  show({ seeds, failures }: Report): void {
    if (this.#silent || seeds >= this.#seeds) return;
    const line = `${seeds} of ${this.#seeds} worlds, ${failures} failures`;
    if (this.#output.isTTY === true) {
      this.#output.write(`\r\u001b[K${line}`);
      return;
    }
    const quarter = Math.floor((PLAIN_LINES * seeds) / this.#seeds);
    if (quarter > this.#quarter) this.#output.write(`${line}\n`);
    this.#quarter = quarter;
  }

  done(): void {
    if (!this.#silent && this.#output.isTTY === true) this.#output.write('\r\u001b[K');
  }
}
