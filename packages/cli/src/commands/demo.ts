import type { Context, Define } from '../context.ts';
import { type DemoReport, demo, type Moment } from '../demo/demo.ts';
import { MEMBERS } from '../demo/resources.ts';
import { amount } from '../printable.ts';
import { number } from '../simulate/arguments.ts';

interface Flags {
  readonly rotations?: number;
  readonly port: number;
  readonly json?: true;
}

const line = ({ rotation, phase, waitsFor, handshakes, failures, perSecond }: Moment): string =>
  `rotation ${rotation}  ${phase}${waitsFor === undefined ? '' : `, waiting for ${waitsFor}`}  |  ${perSecond}/s  ${amount(handshakes, 'handshake')}  ${amount(failures, 'failure')}`;

const summary = ({ rotations, handshakes, failures, seconds, perRotation, problems }: DemoReport): string =>
  [
    ...perRotation.map((one) => {
      const phases = Object.entries(one.phases).map(([phase, took]) => `${phase} ${took} s`);
      return `CA generation ${one.generation}: ${one.seconds} s (${phases.join(', ')}), ${amount(one.handshakes, 'handshake')}, ${amount(one.failures, 'failure')}`;
    }),
    ...problems.map((problem) => `failed: ${problem}`),
    `${amount(rotations, 'rotation')}, ${amount(handshakes, 'handshake')}, ${amount(failures, 'failure')}, ${seconds} s`,
    '',
  ].join('\n');

/** The first input, or the end of waiting for it. */
const lineOrEnd = async (stdin: Context['stdin'], signal: AbortSignal): Promise<void> => {
  const input = stdin[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([input.next(), ended]);
  // A terminal that is read keeps the process alive.
  void input.return?.();
};

export const define: Define = (command, context) => {
  command
    .option(
      '--rotations <n>',
      'stop after this many rotations (default: continue until Ctrl-C)',
      number('--rotations', 1, 1_000),
    )
    .option('--port <port>', 'port of the dashboard (default: any free port)', number('--port', 0, 65_535), 0)
    .option('--json', 'print only one JSON document, at the end')
    .addHelpText(
      'after',
      `
Creates an authority in a temporary directory and ${MEMBERS.length} services that connect to each other with mTLS: some reload at once,
some late, one has to be restarted. Rotates the CA under that load, and removes everything at the end.
Exit code 1 if a handshake failed.

Examples:
  $ handover demo
  $ handover demo --rotations 3 --json`,
    )
    .action(async (flags: Flags) => {
      const live = context.stdout.isTTY === true;
      let said = '';
      const onMoment = (moment: Moment): void => {
        if (flags.json === true) return;
        if (said === '') {
          const who = MEMBERS.map(({ name, manner }) => `${name} (${manner.kind})`).join(', ');
          context.stdout.write(`services: ${who}\ndashboard: ${moment.url}\n`);
        }
        if (live) context.stdout.write(`\r\u001b[K${line(moment)}`);
        else if (`${moment.rotation} ${moment.phase}` !== said) context.stdout.write(`${line(moment)}\n`);
        said = `${moment.rotation} ${moment.phase}`;
      };
      const signal = context.untilStopped();
      const onEnd = async (report: DemoReport, viewers: number): Promise<void> => {
        if (report.failures > 0) context.exitCode = 1;
        const end = flags.json === true ? `${JSON.stringify(report)}\n` : summary(report);
        context.stdout.write(live && flags.json !== true ? `\n${end}` : end);
        // Who looks at the page and sits at this terminal says when it goes.
        if (viewers === 0 || signal.aborted || !live || flags.json === true) return;
        if (context.stdin.isTTY !== true) return;
        context.stdout.write('the page stays until you press Enter\n');
        await lineOrEnd(context.stdin, signal);
      };
      await demo({
        clock: context.clock,
        sinceBoot: context.sinceBoot,
        rotations: flags.rotations,
        port: flags.port,
        onMoment,
        onEnd,
        signal,
      });
    });
};
