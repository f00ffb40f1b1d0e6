import type { SimulationReport } from '@handover/sim';
import { amount } from '../amount.ts';
import type { OutputStream } from '../context.ts';

/**
 * One line that changes on a terminal, a few plain lines elsewhere, none with --json if stderr is not a terminal.
 */
export class SimulationProgress {
  readonly #output: OutputStream;
  readonly #seeds: number;
  readonly #way: 'terminal' | 'plain' | 'silent';

  constructor(output: OutputStream, seeds: number, forProgram: boolean) {
    this.#output = output;
    this.#seeds = seeds;
    this.#way = output.isTTY === true ? 'terminal' : forProgram ? 'silent' : 'plain';
  }

  /** Into how many shares to split: each share issues its own certificates, which costs time. */
  get shares(): number {
    return { terminal: 10, plain: 4, silent: 1 }[this.#way];
  }

  start(): void {
    this.#say(`0 of ${this.#seeds} worlds`);
  }

  show({ seeds, failures }: SimulationReport): void {
    if (seeds < this.#seeds) this.#say(`${seeds} of ${this.#seeds} worlds, ${amount(failures, 'failure')}`);
  }

  done(): void {
    if (this.#way === 'terminal') this.#output.write('\r\u001b[K');
  }

  #say(line: string): void {
    if (this.#way === 'silent') return;
    this.#output.write(this.#way === 'terminal' ? `\r\u001b[K${line}` : `${line}\n`);
  }
}
