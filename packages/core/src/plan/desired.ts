import { type Duration, hour, type Instant } from '@handover/material';
import { type Anchor, type AuthorityState, type Cross, chainOf, trusted, withRole } from './authority.ts';

/** An expired anchor stays this much longer: a peer's clock may be behind ours. */
export const EXPIRY_GRACE: Duration = hour;

export interface Desired {
  /** Generation that signs; undefined: it has no key. */
  readonly issuer: number | undefined;
  /** Cross-certificates behind every leaf. */
  readonly chain: readonly Cross[];
  /** What every bundle holds, newest generation first. */
  readonly anchors: readonly Anchor[];
}

/** What every derived object should hold. No clock, no evidence: a function of the authority alone. */
export const desired = (state: AuthorityState): Desired => {
  const current = withRole(state, 'current');
  return {
    issuer: current?.hasKey === true ? current.number : undefined,
    chain: current === undefined ? [] : chainOf(state, current.number),
    anchors: trusted(state).flatMap((generation) => generation.anchors),
  };
};

/** A bundle's fingerprints in canonical order, without the expired; undefined when that would leave it empty. */
export const bundleAt = (
  anchors: readonly Anchor[],
  isOver: (instant: Instant) => boolean,
): readonly string[] | undefined => {
  const live = anchors.filter((anchor) => !isOver(anchor.notAfter));
  return live.length === 0 ? undefined : [...new Set(live.map((anchor) => anchor.fingerprint))];
};
