/**
 * Why we believe that a consumer has loaded something, strongest first. `cross`: it need not, because the cross-certificate makes it
 * accept the new CA. `expired`, `unused`: nothing is left that could be wrong. `outside`: a consumer of another namespace whose
 * object cannot be repaired; no step waits for it (docs/decisions/0401).
 */
export const EVIDENCE_KINDS = [
  'acknowledged',
  'probed',
  'restarted',
  'confirmed',
  'written',
  'settled',
  'cross',
  'expired',
  'outside',
  'unused',
] as const;
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];

/** What a kind of evidence stands on: something that was seen or said of this very process, an owner's promise, or no need for any. */
export type StandsOn = 'shown' | 'assumed' | 'notNeeded';

export const STANDS_ON = {
  acknowledged: 'shown',
  probed: 'shown',
  restarted: 'shown',
  confirmed: 'shown',
  written: 'shown',
  settled: 'assumed',
  cross: 'notNeeded',
  expired: 'notNeeded',
  outside: 'notNeeded',
  unused: 'notNeeded',
} as const satisfies Record<EvidenceKind, StandsOn>;

/** How many consumers stand on what. `none`: there is no evidence yet. */
export type EvidenceCounts = Readonly<Record<StandsOn | 'none', number>>;

/** What a kind of evidence stands on; it may be a word that another version wrote. */
export const standsOn = (kind: string | undefined | null): keyof EvidenceCounts =>
  EVIDENCE_KINDS.includes(kind as EvidenceKind) ? STANDS_ON[kind as EvidenceKind] : 'none';

/** `kinds`: how many of each. */
export const countEvidence = (kinds: Iterable<readonly [string | null, number]>): EvidenceCounts => {
  const counts = { shown: 0, assumed: 0, notNeeded: 0, none: 0 };
  for (const [kind, count] of kinds) counts[standsOn(kind)] += count;
  return counts;
};

/** "5 shown, 1 assumed": a promise is never counted as proof. */
export const evidenceText = ({ shown, assumed, notNeeded, none }: EvidenceCounts): string =>
  [
    `${shown} shown`,
    ...(assumed === 0 ? [] : [`${assumed} assumed`]),
    ...(notNeeded === 0 ? [] : [`${notNeeded} not needed`]),
    ...(none === 0 ? [] : [`${none} without evidence`]),
  ].join(', ');

/** Orders kinds, strongest first. */
export const byStrength = (a: EvidenceKind, b: EvidenceKind): number =>
  EVIDENCE_KINDS.indexOf(a) - EVIDENCE_KINDS.indexOf(b);
