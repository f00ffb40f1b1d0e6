import { listed } from '@handover/core';
import { FAILS_NEXT, FAILS_NOW, type TrustMatrix } from '@handover/engine';
import { amount, printable } from '../printable.ts';

/** With more presenters, those with equal rows share one, as verifiers do. */
const MOST_ROWS = 100;

const word = (fails: number): string => (fails === 0 ? 'ok' : 'FAILS');
const cell = (bits: number): string => `${word(bits & FAILS_NOW)}/${word(bits & FAILS_NEXT)}`;
const columnName = ([first = '', ...more]: readonly string[]): string =>
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
      ? [...alike(presenters, rowOf)].map(([said, members]) => [columnName(members), ...said.split('\n')])
      : presenters.map((presenter, row) => [presenter, ...rowOf(presenter, row).split('\n')]);
  const table = [
    ['presents \\ verifies (now/next)', ...merged.map((column) => columnName(column.verifiers))],
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

const MOST_PRESENTERS = 5;
const MOST_READERS = 3;

const readBy = (readers: readonly string[]): string =>
  readers.length === 0 ? '' : ` (read by ${listed(readers, MOST_READERS)})`;

/** The pairs that fail now or would fail after the next step, in words, one line for each verifier and reason; of a large fleet only the first. */
export const failingLines = (matrices: readonly TrustMatrix[], most: number): readonly string[] => {
  const groups = new Map<
    string,
    { readonly head: string; readonly why: string; readonly presenters: string[] }
  >();
  const pairs = matrices.flatMap((matrix) => matrix.pairs.map((pair) => ({ ...pair, matrix })));
  for (const { presenter, verifier, now, next, matrix } of pairs) {
    if (now.ok && next.ok) continue;
    const head = `${verifier}${readBy(matrix.readers.get(verifier) ?? [])} ${now.ok ? 'would refuse' : 'refuses'}`;
    const why = (now.ok ? next : now).reason ?? '';
    const group = groups.get(`${head} ${why}`) ?? { head, why, presenters: [] };
    group.presenters.push(presenter);
    groups.set(`${head} ${why}`, group);
  }
  const shown = [...groups.values()].slice(0, most);
  const failing = matrices.reduce((sum, { failingCount }) => sum + failingCount, 0);
  const rest = failing - shown.reduce((sum, { presenters }) => sum + presenters.length, 0);
  return [
    ...shown.map(({ head, why, presenters }) =>
      printable(`${head} ${listed(presenters, MOST_PRESENTERS)}: ${why}`),
    ),
    ...(rest > 0 ? [`and ${amount(rest, 'more pair')}`] : []),
  ];
};
