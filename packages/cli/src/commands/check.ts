import { formatDuration, parseDuration } from '@handover/core';
import {
  type AuthorityId,
  findingOf,
  findingsIn,
  type HealthFinding,
  idleIn,
  otherHooksIn,
  runFindings,
  standingOf,
  strandedIn,
  survey,
  type Thresholds,
} from '@handover/engine';
import { type Duration, day, duration, iso } from '@handover/material';
import { Option } from 'commander';
import { askedOptions } from '../asked-resources.ts';
import type { Context, Define } from '../context.ts';
import { usageError } from '../error-line.ts';
import { authorityOrHome, type HomeFlags, homeOptions, withHome } from '../open-home.ts';
import { amount, printable } from '../printable.ts';

interface Flags extends HomeFlags {
  readonly warn: Duration;
  readonly critical: Duration;
  readonly json?: true;
}

/** What Nagios calls them, and its exit codes. */
const STATES = { ok: ['OK', 0], warning: ['WARNING', 1], critical: ['CRITICAL', 2] } as const;
const NAMED = 3;

const length = (text: string): Duration => {
  const found = parseDuration(text);
  if (found === undefined) throw usageError(`${text} is not a duration; write 30d, 36h or 10m`);
  return found;
};

interface Checked {
  readonly authorities: number;
  readonly leaves: number;
  /** Whether a process works here; null: this home does not record it. */
  readonly run: { readonly pid: number | null; readonly lastAt: string | null } | null;
  readonly findings: readonly HealthFinding[];
}

const check = (flags: Flags, only: AuthorityId | undefined, context: Context): Promise<Checked> =>
  withHome(flags, context, async ({ read }) => {
    const snapshot = await read();
    const thresholds: Thresholds = { warn: flags.warn, critical: flags.critical };
    const { found, unusable } = await survey(snapshot, only, (id) => standingOf(read, id));
    const seen = found.map(({ observation }) => observation.responsibilities.id);
    const others = unusable.flatMap(({ kind, id }) => (kind === 'Authority' ? [id] : []));
    const findings: readonly HealthFinding[] = [
      ...unusable.map(findingOf),
      ...found.flatMap((standing) => findingsIn(standing, thresholds, idleIn(snapshot))),
      ...(only === undefined ? await otherHooksIn(snapshot, found) : []),
      ...(await strandedIn(snapshot, only)).map(({ object, problem }) => ({
        severity: 'warning' as const,
        authority: null,
        text: `${object}: ${problem}`,
      })),
    ];
    const run = snapshot.run?.();
    return {
      run:
        run === undefined
          ? null
          : { pid: run.pid ?? null, lastAt: run.lastAt === undefined ? null : iso(run.lastAt) },
      authorities: new Set([...seen, ...others]).size,
      leaves: found.reduce((count, { status }) => count + status.leaves.length, 0),
      findings: [
        ...runFindings(
          snapshot,
          findings.map(({ text }) => text),
        ),
        ...findings,
      ],
    };
  });

const worst = (findings: readonly HealthFinding[]): keyof typeof STATES => {
  if (findings.some(({ severity }) => severity === 'critical')) return 'critical';
  return findings.length > 0 ? 'warning' : 'ok';
};

const lineOf = ({ authorities, leaves, run, findings }: Checked): string => {
  const counted = `${amount(authorities, 'authority', 'authorities')}, ${amount(leaves, 'leaf', 'leaves')}`;
  const first = [...findings].sort(
    (a, b) => Number(b.severity === 'critical') - Number(a.severity === 'critical'),
  );
  const named = first
    .slice(0, NAMED)
    .map(({ authority, text }) => (authority === null ? text : `${authority}: ${text}`));
  const more = findings.length > NAMED ? [`and ${findings.length - NAMED} more`] : [];
  const runs =
    run === null
      ? ''
      : `; ${run.pid === null ? `nothing runs here${run.lastAt === null ? '' : `, the last at ${run.lastAt}`}` : `process ${run.pid} runs here`}`;
  const said = findings.length === 0 ? `${counted}${runs}` : [...named, ...more].join('; ');
  // A bar begins the figures for graphs: docs of the plugin API.
  return `${said.replaceAll('|', '/')} | authorities=${authorities} leaves=${leaves} findings=${findings.length}`;
};

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .argument('[auth]', 'one authority: namespace/name; or a directory, in place of --home')
    .addOption(
      new Option('--warn <duration>', 'warn of certificates that expire within this time, such as 36h or 30d')
        .argParser(length)
        .default(duration(30 * day), '30d'),
    )
    .addOption(
      new Option(
        '--critical <duration>',
        'report CRITICAL for certificates that expire within this time, such as 36h or 7d',
      )
        .argParser(length)
        .default(duration(7 * day), '7d'),
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
One line, as Nagios, Icinga and their like read it. Exit code 0: OK. 1, WARNING: a certificate is about to expire, a rotation
has waited for longer than its patience, a hook fails, an object cannot be written, no resource asks for an object any more,
a server shows an older certificate than its file for longer than reloadWithin, the clock is in doubt, or nothing has run on
the directory for 25 hours. 2, CRITICAL: a certificate has expired, is missing or damaged, or expires within --critical, a server
that is probed shows an expired certificate, a stranger's or none, a write of the running process fails, a resource is invalid, refused or names one that is not declared, or the state of an authority cannot be used. 3, UNKNOWN: the
home cannot be read, the options are wrong, or the answer cannot be written. Changes nothing.
For short-lived certificates the limits shrink: at most 9/10 (warn) and 1/2 (critical) of the time from renewal to expiry.
Times: 30d, 36h, 10m.

Examples:
  $ handover check --home dir:/etc/handover
  $ handover check default/internal --warn 20d --critical 5d --home kube`,
    )
    .action(async (auth: string | undefined, given: Flags) => {
      const { flags, only } = authorityOrHome(command, given, auth);
      if (flags.critical > flags.warn)
        throw usageError(
          `--critical ${formatDuration(flags.critical)} is longer than --warn ${formatDuration(flags.warn)}; swap them`,
        );
      const checked = await check(flags, only, context);
      const [word, code] = STATES[worst(checked.findings)];
      context.exitCode = code;
      context.stdout.write(
        flags.json === true
          ? `${JSON.stringify({ state: word, ...checked })}\n`
          : `HANDOVER ${word} - ${printable(lineOf(checked))}\n`,
      );
    });
};
