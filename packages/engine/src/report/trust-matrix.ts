import type { Instant } from '@handover/material';
import type { ObjectId } from '../snapshot/home.ts';
import { type Answer, answer, certificatesKey, type Material, type Verdicts } from './verify.ts';

/** One presenter against one verifier. `next`: after the next step, whichever of the two loads it later. */
export interface Pair {
  readonly presenter: ObjectId;
  readonly verifier: ObjectId;
  readonly now: Answer;
  readonly next: Answer;
}

/** Verifiers that hold the same bundle before and after the next step, and whether each presenter fails there. */
export interface TrustColumn {
  readonly verifiers: readonly ObjectId[];
  /** One per presenter: {@link FAILS_NOW}, {@link FAILS_NEXT}, their sum, or 0. */
  readonly cells: Uint8Array;
}
export const FAILS_NOW = 1;
export const FAILS_NEXT = 2;

export interface Trust {
  readonly presenters: readonly ObjectId[];
  readonly verifiers: readonly ObjectId[];
  /** Every pair; of a fleet with more than {@link MOST_PAIRS}, the first {@link MOST_FAILING} that fail. */
  readonly pairs: readonly Pair[];
  readonly pairCount: number;
  readonly failingCount: number;
  readonly columns: readonly TrustColumn[];
}

/** Those of 100 leaves. Pairs grow with the square of the leaves: 5,000 leaves have 25 million, too many for memory. */
const MOST_PAIRS = 10_000;
const MOST_FAILING = 1_000;

const grouped = (
  members: readonly ObjectId[],
  keyOf: (member: ObjectId) => string,
): readonly ObjectId[][] => {
  const groups = new Map<string, ObjectId[]>();
  for (const member of members) {
    const key = keyOf(member);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [member]);
    else group.push(member);
  }
  return [...groups.values()];
};

const OK: Answer = { ok: true };
const bitsOf = ({ now, next }: Pick<Pair, 'now' | 'next'>): number =>
  (now.ok ? 0 : FAILS_NOW) + (next.ok ? 0 : FAILS_NEXT);

/** Checks each chain against each distinct bundle once. */
export const trustBetween = (before: Material, after: Material, at: Instant): Trust => {
  const presenters = [...new Set([...before.chains.keys(), ...after.chains.keys()])].sort();
  const verifiers = [...new Set([...before.bundles.keys(), ...after.bundles.keys()])].sort();
  const groups = grouped(verifiers, (verifier) =>
    [before, after].map(({ bundles }) => certificatesKey(bundles.get(verifier) ?? [])).join('|'),
  );
  const columns = groups.map((members) => ({
    verifiers: members,
    cells: new Uint8Array(presenters.length),
  }));
  const columnOf = new Map(columns.flatMap(({ verifiers: ids }, index) => ids.map((id) => [id, index])));
  const pairCount = presenters.length * verifiers.length;
  const isSmall = pairCount <= MOST_PAIRS;
  const pairs: Pair[] = [];
  let failingCount = 0;
  for (const [row, presenter] of presenters.entries()) {
    const verdicts: Verdicts = new Map(); // per presenter: those of all together do not fit into memory
    const purposes = after.purposes.get(presenter) ?? ['server'];
    const answers = columns.map(({ verifiers: [verifier = ''], ...column }) => {
      const ask = (chains: Material, bundles: Material): Answer =>
        answer(verdicts, chains.chains.get(presenter), bundles.bundles.get(verifier), purposes, at);
      const now = ask(before, before);
      const later = [ask(after, after), ask(before, after), ask(after, before)];
      const next = later.find(({ ok }) => !ok) ?? OK;
      column.cells[row] = bitsOf({ now, next });
      return { now, next };
    });
    for (const { verifiers: members, cells } of columns) if (cells[row] !== 0) failingCount += members.length;
    const isWanted = (found: Pick<Pair, 'now' | 'next'>): boolean => isSmall || bitsOf(found) !== 0;
    if (!isSmall && (pairs.length >= MOST_FAILING || !answers.some(isWanted))) continue;
    for (const verifier of verifiers) {
      const found = answers[columnOf.get(verifier) ?? -1];
      if (found === undefined || !isWanted(found)) continue;
      if (!isSmall && pairs.length >= MOST_FAILING) break;
      pairs.push({ presenter, verifier, ...found });
    }
  }
  return { presenters, verifiers, pairs, pairCount, failingCount, columns };
};
