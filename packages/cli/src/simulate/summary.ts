import type { SimulateOptions, SimulationReport } from '@handover/sim';

type Failure = NonNullable<SimulationReport['firstFailure']>;

const grouped = (n: number): string => n.toLocaleString('en-US');

/** `leaf of CA generation 2` for `leaf of 2`. */
const named = (label: string): string => label.replace(/ of (?=\d)/, ' of CA generation ');

const whatFailed = (failure: Failure): string => {
  const { kind, presenter, verifier, chain, bundle, reason } = failure;
  const shown = chain.length === 0 ? '' : ` presents [${chain.map(named).join(', ')}]`;
  const held = bundle.length === 0 ? '' : ` trusts only CA generation ${bundle.join(', ')}`;
  if (kind === 'handshake') return `${presenter}${shown}, ${verifier}${held}: ${reason}.`;
  const who = [
    presenter === null ? '' : `${presenter}${shown}`,
    verifier === null ? '' : `${verifier}${held}`,
  ];
  return [...who.filter((one) => one !== ''), `${reason}.`].join(': ');
};

const again = (failure: Failure, options: SimulateOptions): string => {
  const { strategy, consumers, delays } = options;
  const fleet = `${consumers === undefined ? '' : ` --consumers ${consumers}`}${delays === undefined ? '' : ` --delays ${delays.join(',')}`}`;
  return `handover simulate --strategy ${strategy}${fleet} --from ${failure.seed} --seeds 1`;
};

/** The report as text. */
export const summary = (report: SimulationReport, options: SimulateOptions): string => {
  const rows: readonly (readonly [string, string])[] = [
    ['strategy', report.strategy],
    ['worlds', grouped(report.seeds)],
    ['rotations', grouped(report.rotations)],
    ['handshakes', grouped(report.handshakes)],
    ['failures', grouped(report.failures)],
    ['seconds', String(report.seconds)],
  ];
  const width = Math.max(...rows.map(([, value]) => value.length));
  const table = rows.map(([name, value]) => `${name.padEnd(12)}${value.padStart(width)}`);
  const { firstFailure: failure } = report;
  const verdict =
    failure === null
      ? ['0 failures: every handshake of every world succeeded.']
      : [
          `First failure, in the world of seed ${failure.seed} after ${failure.at.toFixed(1)} s (${failure.kind}):`,
          `  ${whatFailed(failure)}`,
          `To repeat that world: ${again(failure, options)}`,
        ];
  return `${[...table, '', ...verdict].join('\n')}\n`;
};
