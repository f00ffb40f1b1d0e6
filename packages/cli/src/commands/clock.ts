import { type ClockReport, clockReport, confirmClock } from '@handover/engine';
import { iso } from '@handover/material';
import type { Define } from '../context.ts';
import { homePath, openHome } from '../directory/open-home.ts';
import { homeOption } from '../open-home.ts';

interface Flags {
  readonly home: string;
  readonly confirm?: true;
  readonly json?: true;
}

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
  `the clock shows ${iso(now)}`,
  ...(doubt === undefined
    ? []
    : [
        `the clock jumped from ${iso(doubt.before)} to ${iso(doubt.since)}${
          confirmed ? '' : `: no CA is created or retired before ${iso(doubt.until)}`
        }`,
      ]),
  ...ahead.map(
    ({ authority, latest }) =>
      `${authority} ${confirmed ? 'was' : 'is'} dated ${iso(latest)}, after the clock${
        confirmed ? '; its dates are set to now' : ': Handover does not change it'
      }`,
  ),
  ...(doubt === undefined && ahead.length === 0
    ? ['nothing waits for the clock']
    : [
        confirmed
          ? 'the clock is accepted as right'
          : 'if the clock is right, run this again with --confirm; otherwise set it',
      ]),
];

export const define: Define = (command, context) => {
  command
    .addOption(homeOption('directory: dir:PATH'))
    .option('--confirm', 'accept the clock as right')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
After the clock jumps ahead by more than an hour, no CA is created or retired until the clock has run evenly for 10 minutes. An
authority with dates after the clock is not changed at all (CLOCK_BEHIND). --confirm ends both: dates after the clock are set to
now, and the next pass replaces CAs and leaves that are not valid yet. For an authority with dates after the clock, stop
\`handover run\` first. A cluster uses the clock of its API server, which is trusted again after 10 minutes.

Examples:
  $ handover clock --home dir:/etc/handover
  $ handover clock --confirm --home dir:/etc/handover`,
    )
    .action(async (flags: Flags) => {
      const home = openHome(homePath(flags.home), context);
      const catalogue = home.load();
      const confirmed = flags.confirm === true;
      const seen = await clockReport(home, catalogue);
      // Only a write of the state needs the lock; a running process notices a confirmed clock.
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
