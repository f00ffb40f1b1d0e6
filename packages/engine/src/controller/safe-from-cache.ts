import type { Action, Plan } from '@handover/core';

/** A write or a stamp names the version it rests on, which fences it; a creation or a step names nothing that could. */
const mayRestOnCache = (action: Action): boolean =>
  action.kind === 'stamp' ||
  action.kind === 'reissue' ||
  ((action.kind === 'write-bundle' || action.kind === 'write-leaf') && action.expect !== undefined);

/** There is nothing to do and nothing to wait for. */
export const isAtRest = ({ actions, blockedBy, phase }: Plan): boolean =>
  actions.length === 0 && blockedBy.length === 0 && phase === 'Stable';

/**
 * Whether a plan that was made on a cached look may be followed: docs/decisions/0203. To do nothing is always safe, but a cache
 * that is behind must not hold up a rotation: only a stable authority with no request rests on it.
 */
export const isSafeFromCache = (plan: Plan): boolean =>
  plan.actions.length === 0 ? isAtRest(plan) : plan.actions.every(mayRestOnCache);
