import type { Cell, Party, TrustGrid } from '../document.ts';
import { counted, shortName } from './words.ts';

/** One row or column as drawn: one party, or all equal ones. */
export interface Line {
  readonly label: string;
  readonly title: string;
  readonly group: number;
  readonly count: number;
}

export interface GridView {
  readonly rows: readonly Line[];
  readonly columns: readonly Line[];
  readonly cell: (row: Line, column: Line) => Cell;
  /** Number of pairs by their verdict now. */
  readonly totals: {
    readonly ok: number;
    readonly assumed: number;
    readonly waits: number;
    readonly fails: number;
  };
}

const MOST_APART = 16;

const linesOf = (parties: readonly Party[]): readonly Line[] => {
  if (parties.length <= MOST_APART)
    return parties.map(({ name, group }) => ({ label: shortName(name), title: name, group, count: 1 }));
  const groups = new Map<number, string[]>();
  for (const { name, group } of parties) {
    const names = groups.get(group);
    if (names === undefined) groups.set(group, [name]);
    else names.push(name);
  }
  return [...groups].map(([group, names]) => {
    const [first = '', second] = names;
    const label =
      second === undefined ? shortName(first) : `${shortName(first)} + ${counted(names.length - 1)}`;
    const title =
      names.length > 20 ? `${names.slice(0, 20).join(', ')} and ${names.length - 20} more` : names.join(', ');
    return { label, title, group, count: names.length };
  });
};

const UNKNOWN: Cell = { now: 'ok', next: null };

/** The grid as drawn: a line for each of few parties, a shared line for equal ones of many. */
export const gridView = ({ presenters, verifiers, cells }: TrustGrid): GridView => {
  const rows = linesOf(presenters);
  const columns = linesOf(verifiers);
  const cell = (row: Line, column: Line): Cell => cells[row.group]?.[column.group] ?? UNKNOWN;
  const totals = { ok: 0, assumed: 0, waits: 0, fails: 0 };
  for (const row of rows)
    for (const column of columns) totals[cell(row, column).now] += row.count * column.count;
  return { rows, columns, cell, totals };
};

const NOW = {
  ok: 'verifies',
  assumed: 'verifies, assumed',
  waits: 'verifies, not confirmed',
  fails: 'is refused',
} as const;
const NEXT = {
  ok: 'would verify',
  assumed: 'would verify, assumed',
  waits: 'would verify, not confirmed',
  fails: 'would be refused',
} as const;

/** "all 49 pairs verify", "36 pairs verify, 13 assumed". */
export const totalWords = ({ ok, assumed, waits, fails }: GridView['totals']): string => {
  const pairs = ok + assumed + waits + fails;
  if (fails > 0) return `${counted(fails)} of ${counted(pairs)} pairs refused`;
  if (waits > 0) return `${counted(waits)} of ${counted(pairs)} pairs not confirmed`;
  return assumed > 0
    ? `${counted(ok)} of ${counted(pairs)} pairs verify, ${counted(assumed)} assumed`
    : `all ${counted(pairs)} pairs verify`;
};

/** A cell in words. */
export const cellWords = (
  row: Line,
  column: Line,
  { now, next, why, whyNext }: Cell,
  step: string | null,
): string => {
  const first = `${row.label} to ${column.label}: ${NOW[now]}${why === undefined ? '' : ` (${why})`}.`;
  if (next === null || step === null) return first;
  return `${first} After this step (${step}): ${NEXT[next]}${whyNext === undefined ? '' : ` (${whyNext})`}.`;
};
