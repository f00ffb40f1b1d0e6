import { printable } from '../printable.ts';
import type { TlsCheck } from '../tls-check/check.ts';
import type { NamedYardstick } from './profile.ts';

const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const COLOURS = { match: GREEN, mismatch: RED, inconclusive: YELLOW, unchecked: YELLOW } as const;

type Row = readonly [what: string, server: string, profile: string, isWrong: boolean];

const STANDING = { asked: 'asks for it', forbidden: 'forbids it' } as const;

const rowsOf = ({ versions }: TlsCheck, { otherGroups }: NamedYardstick): readonly Row[] =>
  versions.flatMap(({ version, profile, outcome, why, suites, groups }) => {
    const isAccepted = outcome === 'accepted';
    const isForbidden = profile === 'forbidden';
    const head: Row = [
      version,
      isAccepted && isForbidden
        ? `accepted with ${suites.length} ${suites.length === 1 ? 'suite' : 'suites'}`
        : why === undefined
          ? outcome
          : `${outcome}: ${why}`,
      profile === undefined ? '-' : STANDING[profile],
      (isAccepted && isForbidden) || (outcome === 'refused' && profile === 'asked'),
    ];
    // One suite too many is as bad as twenty where there should be none.
    if (isForbidden) return [head];
    return [
      head,
      ...suites.map(
        ({ name, listed }): Row => [
          `  ${name}`,
          'accepted',
          listed ? 'lists it' : 'does not list it',
          !listed,
        ],
      ),
      ...groups.map(
        ({ name, listed }): Row => [
          `  group ${name}`,
          'accepted',
          otherGroups === 'unjudged' ? '-' : listed ? 'lists it' : 'does not list it',
          !listed && otherGroups === 'mismatch',
        ],
      ),
    ];
  });

/** A table of the server's behaviour, then mismatches, then remarks. */
export const showCheck = (
  check: TlsCheck & { readonly pod?: string },
  measure: NamedYardstick,
  colours: boolean,
): string => {
  const paint = (text: string, code: number): string => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const { address, servername, pod, verdict, negotiated, mismatches, unknowns, remarks } = check;
  const who = `${address}${pod === undefined ? '' : ` (pod ${pod})`}${servername === undefined ? '' : `, asked for ${servername}`}`;
  const rows = verdict === 'unchecked' ? [] : rowsOf(check, measure);
  const table: readonly Row[] = rows.length === 0 ? [] : [['', 'server', measure.name, false], ...rows];
  const width = (column: 0 | 1 | 2): number => Math.max(...table.map((row) => row[column].length));
  const lines = [
    `${printable(who)}: ${paint(verdict, COLOURS[verdict])}`,
    ...table.map(([what, server, profile, isWrong]) => {
      const text = printable(
        `  ${what.padEnd(width(0))}  ${server.padEnd(width(1))}  ${isWrong ? profile.padEnd(width(2)) : profile}`,
      ).trimEnd();
      return isWrong ? paint(`${text}  <- mismatch`, RED) : text;
    }),
    ...(negotiated?.kind === 'done'
      ? [
          `  a client with this profile gets ${[negotiated.version, negotiated.suite, negotiated.group].filter(Boolean).join(', ')}`,
        ]
      : []),
    ...mismatches.map(({ code, message }) => `  mismatch: ${code}: ${message}`),
    ...unknowns.map(({ code, message }) => `  unknown: ${code}: ${message}`),
    ...remarks.map(({ code, message }) => `  remark: ${code}: ${message}`),
    ...(measure.notTried.length === 0
      ? []
      : [`  not tried: ${measure.notTried.join(', ')}: unknown suite or group`]),
  ];
  return `${lines.join('\n')}\n`;
};
