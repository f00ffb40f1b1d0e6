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

/** Orders kinds, strongest first. */
export const byStrength = (a: EvidenceKind, b: EvidenceKind): number =>
  EVIDENCE_KINDS.indexOf(a) - EVIDENCE_KINDS.indexOf(b);
