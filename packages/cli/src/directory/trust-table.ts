import { FAILS_NEXT, FAILS_NOW, type TrustMatrix } from '@handover/engine';
import { printable } from '../printable.ts';

/** With more presenters, those with equal rows share one, as verifiers do. */
const MOST_ROWS = 100;

const word = (fails: number): string => (fails === 0 ? 'ok' : 'FAILS');
const cell = (bits: number): string => `${word(bits & FAILS_NOW)}/${word(bits & FAILS_NEXT)}`;
const nameOf = ([first = '', ...more]: readonly string[]): string =>
  more.length === 0 ? first : `${first} and ${more.length} more`;

/** Members grouped by their text. */
const alike = <Member>(
  members: readonly Member[],
  saidOf: (member: Member, index: number) => string,
): Map<string, Member[]> => {
  const groups = new Map<string, Member[]>();
  for (const [index, member] of members.entries()) {
    const said = saidOf(member, index);
    const group = groups.get(said);
    if (group === undefined) groups.set(said, [member]);
    else group.push(member);
  }
  return groups;
};

/** Presenters are rows, verifiers columns; verifiers with equal columns share one. */
export const trustTable = ({ presenters, verifiers, columns }: TrustMatrix): readonly string[] => {
  const places = new Map(verifiers.map((verifier, index) => [verifier, index]));
  const place = (verifier = ''): number => places.get(verifier) ?? 0;
  const merged = [...alike(columns, ({ cells }) => cells.join('')).values()]
    .map((same) => ({
      verifiers: same
        .flatMap((column) => column.verifiers)
        .toSorted((left, right) => place(left) - place(right)),
      cells: same[0]?.cells ?? new Uint8Array(),
    }))
    .toSorted((left, right) => place(left.verifiers[0]) - place(right.verifiers[0]));
  const rowOf = (_: string, row: number): string =>
    merged.map(({ cells }) => cell(cells[row] ?? 0)).join('\n');
  const rows =
    presenters.length > MOST_ROWS
      ? [...alike(presenters, rowOf)].map(([said, members]) => [nameOf(members), ...said.split('\n')])
      : presenters.map((presenter, row) => [presenter, ...rowOf(presenter, row).split('\n')]);
  const table = [
    ['presents \\ verifies (now/next)', ...merged.map((column) => nameOf(column.verifiers))],
    ...rows,
  ];
  const widths = (table[0] ?? []).map((_, column) =>
    table.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return table.map((row) =>
    printable(
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
  );
};

/** The pairs that fail now or would fail after the next step, in words; of a large fleet only the first. */
export const failingPairs = ({ pairs }: TrustMatrix): readonly string[] =>
  pairs
    .filter(({ now, next }) => !now.ok || !next.ok)
    .map(({ presenter, verifier, now, next }) =>
      printable(
        `${verifier} ${now.ok ? 'would refuse' : 'refuses'} ${presenter}: ${(now.ok ? next : now).reason ?? ''}`,
      ),
    );
