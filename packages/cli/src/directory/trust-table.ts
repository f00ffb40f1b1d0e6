import type { Pair, TrustMatrix } from '@handover/engine';
import { printable } from '../printable.ts';

const cell = ({ now, next }: Pair): string => `${now.ok ? 'ok' : 'FAILS'}/${next.ok ? 'ok' : 'FAILS'}`;

/** Presenter rows, verifier columns; verifiers whose column would read the same share one. */
export const trustTable = ({ presenters, verifiers, pairs }: TrustMatrix): readonly string[] => {
  const cells = new Map(pairs.map((pair) => [`${pair.presenter} ${pair.verifier}`, cell(pair)]));
  const columns = new Map<string, string[]>();
  for (const verifier of verifiers) {
    const text = presenters.map((presenter) => cells.get(`${presenter} ${verifier}`) ?? '').join('\n');
    columns.set(text, [...(columns.get(text) ?? []), verifier]);
  }
  const heads = [...columns.values()].map((members) =>
    members.length === 1 ? (members[0] ?? '') : `${members[0]} and ${members.length - 1} more`,
  );
  const bodies = [...columns.keys()].map((text) => text.split('\n'));
  const rows = presenters.map((presenter, row) => [presenter, ...bodies.map((body) => body[row] ?? '')]);
  const table = [['presents \\ verifies (now/next)', ...heads], ...rows];
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
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

/** Every pair that fails now or would after the next step, in words. */
export const failingPairs = ({ pairs }: TrustMatrix): readonly string[] =>
  pairs
    .filter(({ now, next }) => !now.ok || !next.ok)
    .map(({ presenter, verifier, now, next }) =>
      printable(
        `${verifier} ${now.ok ? 'would refuse' : 'refuses'} ${presenter}: ${(now.ok ? next : now).reason ?? ''}`,
      ),
    );
