export {
  type Anchor,
  type AuthorityState,
  type Cross,
  type Generation,
  generationOf,
  type Role,
  withRole,
} from './authority.ts';
export { type Desired, desired } from './desired.ts';
export { byStrength, EVIDENCE_KINDS, type EvidenceKind, type Finding } from './evidence.ts';
export { type Closeness, closeness, renewalDueAt, rotationDueAt, SKEW } from './expiry.ts';
export { explain } from './explain.ts';
export type { Blocker } from './gates.ts';
export type {
  ClockDoubt,
  ConsumerSeen,
  HeldAnchor,
  InstanceSeen,
  LeafSeen,
  ObjectSeen,
  Observed,
  Proof,
  Reload,
} from './observed.ts';
export { type Action, isElsewhere, type Phase, type Plan, phaseOf, plan, type Swap } from './plan.ts';
export type { BundlePolicy, LeafPolicy, Policy } from './policy.ts';
export { notReady, type Refusal } from './ready.ts';
export type { StampAction } from './rollouts.ts';
export { type Shown, shownFor } from './shown.ts';
export { covers, formatStamp, parseStamp, type Stamp } from './stamp.ts';
export { type Lack, type Standing, standings } from './standing.ts';
export { applyTransition, type Made, type Transition } from './transition.ts';
export { listed, sentenceOf, type WaitGroup, waitGroups, waitingText } from './waiting.ts';
export type { BundleWrite, LeafWrite, Note } from './writes.ts';
