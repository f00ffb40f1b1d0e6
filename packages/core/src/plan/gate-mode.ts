import { type Instant, instant } from '@handover/material';
import { type Generation, withRole } from './authority.ts';
import { strips, unseenPresenters } from './chains.ts';
import type { PlanningContext } from './evidence.ts';
import type { Observed } from './observed.ts';
import { isValidYet } from './transition.ts';

/** Which waits of a gate may be skipped. */
export interface GateMode {
  /** Why gate 1 admits no fallback: no cross-certificate covers a mistake. */
  readonly strict: string | undefined;
  /** A presenter was not seen sending the cross-certificate. */
  readonly unseen: boolean;
  /** `patience` has passed. */
  readonly impatient: boolean;
  /** The rotation's deadline has passed. */
  readonly late: boolean;
}

/** Why cross-certificates cover no mistake; undefined: they do. */
export const strictness = (seen: Observed, current: Generation): string | undefined => {
  if (!current.hasKey) return `CA generation ${current.number} has no key to sign a cross-certificate with`;
  const found = seen.consumers.find((consumer) => consumer.blocks && strips(consumer));
  return found === undefined ? undefined : `${found.id} serves its leaf without the cross-certificate`;
};

/**
 * When a step stops waiting, as a share of the CA's life that was left when the step began. Without a cross-certificate, opening gate 1
 * breaks the consumers that are missing, and letting the CA expire breaks all of them: so it opens late, but in time to load leaves.
 */
export const DEADLINE = { covered: 0.75, strict: 0.95 } as const;

export const deadlineOf = (begun: Instant, ca: Generation, share: number): Instant =>
  instant(begun + share * (ca.anchors[0].notAfter - begun));

const ownConsumers = (seen: Observed): Observed => ({
  ...seen,
  consumers: seen.consumers.filter(({ blocks }) => blocks),
});

export const gateModeOf = (context: PlanningContext, seen: Observed): GateMode => {
  const { state, policy, clock } = context;
  const next = withRole(state, 'next');
  const current = withRole(state, 'current');
  const previous = withRole(state, 'previous');
  const [coming, going] = next === undefined ? [current, previous] : [next, current];
  if (coming === undefined || going === undefined)
    return { strict: undefined, unseen: false, impatient: false, late: false };
  const strict = next === undefined ? undefined : strictness(seen, going);
  const share = strict === undefined ? DEADLINE.covered : DEADLINE.strict;
  const deadline = deadlineOf(coming.since, going, share);
  // A CA that is not valid yet is like an expired one: peers refuse what it signs.
  const late = clock.reached(deadline) || (next !== undefined && !isValidYet(going, clock));
  return {
    strict,
    unseen:
      next !== undefined && strict === undefined && unseenPresenters(context, ownConsumers(seen)).length > 0,
    impatient: clock.aged(coming.since, policy.patience),
    late: late && clock.doubt === undefined,
  };
};
