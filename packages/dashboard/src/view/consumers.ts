import type { EvidenceKind } from '@handover/core';
import type { AuthorityPart } from '../document.ts';
import { waitingFor } from './headline.ts';
import { counted } from './words.ts';

export interface Row {
  readonly name: string;
  readonly kind: string;
  /** Null: none that counts yet. */
  readonly evidence: EvidenceKind | null;
  readonly waitsFor: readonly string[];
  readonly at: number | null;
  readonly remark: string | null;
  /** `wrong`: it serves a certificate that clients refuse, or none. */
  readonly state: 'waits' | 'wrong' | 'none' | 'assumed' | 'shown' | 'notNeeded';
  /** What it serves now, the worst of its processes; null: it is not asked. */
  readonly shows: string | null;
}

/** How many rows there are of each state; every consumer that the page lists counts once. */
export type RowCounts = Readonly<Record<Row['state'], number>>;

export const countRows = (rows: readonly Row[]): RowCounts => {
  const counts = { waits: 0, wrong: 0, none: 0, assumed: 0, shown: 0, notNeeded: 0 };
  for (const { state } of rows) counts[state]++;
  return counts;
};

const COUNT_WORDS = {
  wrong: 'wrong',
  waits: 'awaited',
  shown: 'shown',
  assumed: 'assumed',
  notNeeded: 'not needed',
  none: 'without evidence',
} as const satisfies Record<Row['state'], string>;

/** "5 shown, 1 assumed". */
export const countWords = (counts: RowCounts): string =>
  (Object.keys(COUNT_WORDS) as (keyof typeof COUNT_WORDS)[])
    .filter((state) => state === 'shown' || counts[state] > 0)
    .map((state) => `${counted(counts[state])} ${COUNT_WORDS[state]}`)
    .join(', ');

/** What each kind of evidence means. */
export const EVIDENCE: Readonly<Record<EvidenceKind, string>> = {
  acknowledged: 'the process itself reports what it has loaded',
  probed: 'a TLS handshake showed it',
  restarted: 'it started after the files were written',
  confirmed: 'a person said that it was restarted after the files were written',
  written: 'the API server holds the bytes',
  settled: 'assumed: its owner says that it reloads within reloadWithin',
  cross: 'it need not load it: the cross-certificate makes it accept the new CA',
  expired: 'the old leaf has expired',
  outside: 'of another namespace; no step waits for it',
  unused: 'no program uses it',
};

const urgency = ({ state }: Row): number => (state === 'wrong' ? 2 : state === 'waits' ? 1 : 0);

/** Consumers that serve something wrong come first, then those that the next step waits for; then by name. */
export const consumerRows = (part: AuthorityPart, filter = ''): readonly Row[] => {
  const { status, awaited } = part;
  const lacking = new Map(awaited.map(({ name, waitsFor }) => [name, waitsFor]));
  const known = new Set(status.consumers.map(({ name }) => name));
  const rows = status.consumers.map(({ name, kind, evidence, stands, at, remark, shows: [worst] }): Row => {
    const waitsFor = lacking.get(name) ?? [];
    return {
      name,
      kind,
      evidence: waitsFor.length > 0 ? null : evidence,
      waitsFor,
      at: at === null ? null : Date.parse(at),
      remark: remark ?? null,
      state: worst?.wrong === true ? 'wrong' : waitsFor.length > 0 ? 'waits' : stands,
      shows: worst === undefined ? null : worst.text,
    };
  });
  // Not consumers: readers of an object, an object that cannot be written, a pause.
  const others = waitingFor(part)
    .filter((name) => !known.has(name))
    .map((name): Row => {
      const blockers = status.blockedBy.filter(({ consumer }) => consumer === name);
      return {
        name,
        kind: '',
        evidence: null,
        waitsFor: blockers.map(({ waitsFor }) => waitsFor),
        at: null,
        remark: null,
        state: 'waits',
        shows: null,
      };
    });
  const wanted = filter.trim().toLowerCase();
  return [...rows, ...others]
    .filter(({ name }) => wanted === '' || name.toLowerCase().includes(wanted))
    .sort((a, b) => urgency(b) - urgency(a) || (a.name < b.name ? -1 : 1));
};

/** Which of many rows of one height are in sight, with some on either side. */
export const rowsInSight = (
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
): { readonly first: number; readonly end: number } => {
  const margin = 8;
  const first = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight) - margin, count - 1));
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + margin);
  return { first: Math.max(0, first), end: Math.max(end, 0) };
};
