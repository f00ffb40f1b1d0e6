import type { Instant } from '@handover/material';
import { printable } from '../printable.ts';
import type { InspectedFile } from './file.ts';
import type { Relations } from './relations.ts';
import { fieldsOf, heading, placed } from './values.ts';
import type { Warning } from './warnings.ts';

/** One fact per line, in the order of the file: for pipes, logs and `grep`. */
export const plainText = (
  file: InspectedFile,
  warnings: readonly Warning[],
  relations: Relations,
  now: Instant,
): string => {
  const lines = [heading(file)];
  for (const entry of file.entries) {
    lines.push(placed(`certificate ${entry.index}`, entry));
    for (const [name, value] of fieldsOf(entry, relations, now)) lines.push(`  ${name}: ${value}`);
  }
  for (const other of file.others) lines.push(placed(other.label, other));
  for (const { code, certificate, line, message } of warnings) {
    const where = certificate === undefined ? `line ${line}` : `certificate ${certificate}`;
    lines.push(`warning: ${code}: ${where}: ${printable(message)}`);
  }
  return `${lines.join('\n')}\n`;
};
