import type { SimulateOptions, SimulationReport, StrategyName } from '@handover/sim';
import { Option } from 'commander';
import type { Define, OutputStream } from '../context.ts';
import { amount } from '../printable.ts';
import { number, numbers } from '../simulate/arguments.ts';
import { runSimulation } from '../simulate/run-simulation.ts';
import { summary } from '../simulate/summary.ts';

/**
 * One line that changes on a terminal, a few plain lines elsewhere, none with --json if stderr is not a terminal.
 */
class SimulationProgress {
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

const STRATEGIES: readonly StrategyName[] = ['phased', 'instant', 'replace', 'carry-over'];

interface Flags {
  readonly strategy: StrategyName;
  readonly seeds?: number;
  readonly from: number;
  readonly consumers?: number;
  readonly delays?: readonly number[];
  readonly json?: true;
}

export const define: Define = (command, context) => {
  command
    .addOption(new Option('--strategy <name>', 'how to rotate').choices(STRATEGIES).default('phased'))
    .option(
      '--seeds <n>',
      'how many worlds (default: 100, or 10 with --consumers or --delays)',
      number('--seeds', 1, 1_000_000),
    )
    .option(
      '--from <n>',
      'the first seed: a seed determines everything in its world',
      number('--from', 1, 1_000_000_000),
      1,
    )
    .option(
      '--consumers <n>',
      'simulate this many consumers that reload by themselves',
      number('--consumers', 1, 10_000),
    )
    .option(
      '--delays <list>',
      'after how many seconds they reload, assigned in turn',
      numbers('--delays', 0, 86_400),
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Rotates simulated fleets in virtual time and verifies, after each step, every leaf against every bundle in use. The strategies
phased and instant run Handover's own planner, with faults: crashes, lost events, stale reads, clock jumps, consumers that
never reload and more. For comparison, replace (everything at once) and carry-over (everything at once, the old CA kept in the
bundle) do what other tools do, without faults.

Without --consumers and --delays each world has a random, mixed fleet.
Exit code 1 if a handshake failed, whatever the strategy.

Examples:
  $ handover simulate --strategy phased --seeds 200
  $ handover simulate --consumers 2000 --delays 0,30,90 --seeds 2
  $ handover simulate --strategy replace --seeds 5 --json`,
    )
    .action(async (flags: Flags) => {
      const { strategy, from, consumers, delays } = flags;
      const seeds = flags.seeds ?? (consumers === undefined && delays === undefined ? 100 : 10);
      const options: SimulateOptions = { strategy, seeds, from, consumers, delays };
      const progress = new SimulationProgress(context.stderr, seeds, flags.json === true);
      progress.start();
      const report = await runSimulation(options, progress.shares, (partial) => progress.show(partial));
      progress.done();
      context.stdout.write(flags.json === true ? `${JSON.stringify(report)}\n` : summary(report, options));
      if (report.failures > 0) context.exitCode = 1;
    });
};
