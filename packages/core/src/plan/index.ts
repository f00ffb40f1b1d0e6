export {
  type Anchor,
  type AuthorityState,
  type Generation,
  generationOf,
  type IssuedElsewhere,
  isMoving,
  ROLES,
  type Role,
  withRole,
} from './authority.ts';
export { desired, EXPIRY_GRACE } from './desired.ts';
export {
  byStrength,
  countEvidence,
  EVIDENCE_KINDS,
  type EvidenceCounts,
  type EvidenceKind,
  evidenceText,
  STANDS_ON,
  type StandsOn,
  standsOn,
} from './evidence-kind.ts';
export { type Closeness, closeness, renewalDueAt, rotationDueAt, SKEW } from './expiry.ts';
export { explain } from './explain.ts';
export {
  type ExternalSigning,
  elsewhereEnds,
  MOST_NAMED_ELSEWHERE,
  recordExternalSigning,
  withExternalDates,
} from './external-signing.ts';
export type { Blocker } from './gates.ts';
export {
  type ClockDoubt,
  type ConsumerSeen,
  Contended,
  FOREIGN_SPEC,
  type InstanceSeen,
  type LeafSeen,
  type NotServed,
  type ObjectSeen,
  type Observed,
  type Obstacle,
  type Proof,
  type Reload,
  type Served,
  type ServedLeaf,
  type ShownLeaf,
  sameObstacle,
  type Unread,
  type WrittenBy,
} from './observed.ts';
export { passesAt } from './passes-at.ts';
export {
  type Action,
  isElsewhere,
  type Phase,
  type Plan,
  phaseOf,
  plan,
  type RotationStep,
  type Swap,
} from './plan.ts';
export type { Policy } from './policy.ts';
export { type NotReady, notReady, type Refusal } from './ready.ts';
export { MOST_REISSUES, type Reissue } from './reissues.ts';
export { type RestsOnTime, restsOnTime, restsText } from './rests-on-time.ts';
export { type Retained, retainedText } from './retained.ts';
export type { StampAction } from './rollouts.ts';
export {
  isServedWrong,
  SERVING_STATES,
  type Serving,
  type ServingState,
  sameServed,
  servings,
} from './served.ts';
export { type Shown, shownFor } from './shown.ts';
export { believedStamp, covers, formatStamp, parseStamp, type Stamp } from './stamp.ts';
export { type Standing, standings } from './standing.ts';
export { applyTransition, type Made, type Transition } from './transition.ts';
export { caGenerations, listed, sentenceOf, waitGroups, waitingText } from './waiting.ts';
export type { BundleWrite, LeafWrite, Note } from './writes.ts';
