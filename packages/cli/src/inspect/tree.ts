import { type Instant, nameOf } from '@handover/material';
import { printable } from '../printable.ts';
import type { InspectedEntry, InspectedFile } from './file.ts';
import type { Relations } from './relations.ts';
import { fieldsOf, heading, placed, whereIn } from './values.ts';
import type { Warning } from './warnings.ts';

const SHOWN_ABOVE = ['subject'];
/** Deeper levels are not indented further: no terminal is wide enough, and no honest chain so long. */
const DEEPEST = 12;

const paints = (colours: boolean) => {
  const paint =
    (code: string) =>
    (text: string): string =>
      colours ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { bold: paint('1'), dim: paint('2'), yellow: paint('33') };
};

/** Groups by key, in order. */
const grouped = <K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> => {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
};

/** Each certificate below the one that issued it, for people at a terminal. */
export const tree = (
  file: InspectedFile,
  warnings: readonly Warning[],
  relations: Relations,
  now: Instant,
  colours: boolean,
): string => {
  const { bold, dim, yellow } = paints(colours);
  const warn = ({ code, message }: Warning): string => yellow(`! ${code}: ${printable(message)}`);
  const own = new Set(file.entries);
  const below = grouped(file.entries, (entry) =>
    relations.issuers.get(entry)?.find((issuer) => own.has(issuer)),
  );
  const warningsAbout = grouped(warnings, ({ certificate }) => certificate);
  const lines = [bold(heading(file))];
  const seen = new Set<InspectedEntry>();

  const show = (entry: InspectedEntry, indent: string, isLast: boolean): void => {
    seen.add(entry);
    const children = (below.get(entry) ?? []).filter((child) => !seen.has(child));
    lines.push(
      `${dim(indent + (isLast ? '└─ ' : '├─ '))}${bold(printable(nameOf(entry.certificate)))}  ${dim(`#${entry.index}, ${whereIn(entry)}`)}`,
    );
    const inner = indent.length >= 3 * DEEPEST ? indent : indent + (isLast ? '   ' : '│  ');
    const margin = dim(inner + (children.length > 0 ? '│  ' : '   '));
    for (const [name, value] of fieldsOf(entry, relations, now)) {
      if (!SHOWN_ABOVE.includes(name)) lines.push(`${margin}${dim(name.padEnd(12))} ${value}`);
    }
    for (const warning of warningsAbout.get(entry.index) ?? []) lines.push(`${margin}${warn(warning)}`);
    for (const [n, child] of children.entries()) show(child, inner, n === children.length - 1);
  };

  // Two CAs that cross-signed each other have no top: an entry that was not reached is a top itself.
  const tops = below.get(undefined) ?? [];
  for (const [n, top] of tops.entries()) show(top, '', n === tops.length - 1);
  for (const entry of file.entries) if (!seen.has(entry)) show(entry, '', true);

  for (const other of file.others) lines.push(`${dim('·')} ${placed(other.label, other)}`);
  for (const warning of warningsAbout.get(undefined) ?? []) {
    lines.push(`${warn(warning)} ${dim(`(line ${warning.line})`)}`);
  }
  return `${lines.join('\n')}\n`;
};
