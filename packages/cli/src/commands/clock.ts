import { type ClockReport, clockReport, confirmClock } from '@handover/engine';
import type { Define } from '../context.ts';
import { homePath, openHome } from '../directory/open-home.ts';

interface Flags {
  readonly home: string;
  readonly confirm?: true;
  readonly json?: true;
}

const iso = (at: number): string => new Date(at).toISOString();

const documentOf = ({ now, doubt, ahead }: ClockReport, confirmed: boolean): object => ({
  now: iso(now),
  doubted:
    doubt === undefined
      ? null
      : { since: iso(doubt.since), before: iso(doubt.before), believedFrom: iso(doubt.until) },
  datedAhead: ahead.map(({ authority, latest }) => ({ authority, latest: iso(latest) })),
  confirmed,
});

const linesOf = ({ now, doubt, ahead }: ClockReport, confirmed: boolean): readonly string[] => [
  `the clock says ${iso(now)}`,
  ...(doubt === undefined
    ? []
    : [
        `it leapt from ${iso(doubt.before)} to ${iso(doubt.since)}${
          confirmed ? '' : `: no CA is made or retired before ${iso(doubt.until)}`
        }`,
      ]),
  ...ahead.map(
    ({ authority, latest }) =>
      `${authority} ${confirmed ? 'was' : 'is'} dated ${iso(latest)}, which is after it${
        confirmed ? '; it is dated now' : ': nothing is done for it'
      }`,
  ),
  ...(doubt === undefined && ahead.length === 0
    ? ['nothing waits for it']
    : [confirmed ? 'it is taken for right' : 'if it is right, say so with --confirm; if not, set it']),
];

export const define: Define = (command, context) => {
  command
    .option('--home <home>', 'the directory: dir:PATH', 'dir:.')
    .option('--confirm', 'take the clock as it is now for right')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
After a leap ahead of more than an hour no CA is made or retired until the clock has run evenly for 10 minutes. An authority that
is dated after the clock is not touched at all (CLOCK_BEHIND). With --confirm both end: what is dated after the clock is dated
now, and CAs and leaves that are not valid yet are replaced at the next pass. For an authority that is dated ahead, stop
\`handover run\` first. The clock of a cluster is its API server’s, and is believed after 10 minutes.

Examples:
  $ handover clock --home dir:/etc/handover
  $ handover clock --confirm --home dir:/etc/handover`,
    )
    .action(async (flags: Flags) => {
      const home = openHome(homePath(flags.home), context);
      const catalogue = home.load();
      const confirmed = flags.confirm === true;
      const seen = await clockReport(home, catalogue);
      // Only a swap needs the directory for itself; a process that runs hears of a confirmed clock.
      const lock = confirmed && seen.ahead.length > 0 ? await home.lock() : undefined;
      try {
        const report = confirmed ? await confirmClock(home, catalogue) : seen;
        context.stdout.write(
          flags.json === true
            ? `${JSON.stringify(documentOf(report, confirmed))}\n`
            : `${linesOf(report, confirmed).join('\n')}\n`,
        );
      } finally {
        await lock?.release();
      }
    });
};
