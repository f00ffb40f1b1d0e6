import type { Plan } from '@handover/core';
import { hour } from '@handover/material';
import { isSecret } from './resources.ts';
import type { World } from './world.ts';

/** Longer than `reloadWithin`, than a short `patience`, and than a clock takes to catch up. */
export const RESTLESS = 3 * hour;

type Seen = Pick<World, 'consumers' | 'setup' | 'store'>;

/** How a world ended that came to rest. */
export interface LivenessVerdict {
  readonly blockedBy: readonly string[];
  /** Why it should not have come to rest. */
  readonly failures: readonly string[];
}

/** Whether only its owner could unblock it. */
const mayBlock = (
  id: string,
  { consumers, setup, store }: Seen,
  isPresented: (object: string) => boolean,
): boolean => {
  const traits = consumers.get(id)?.traits;
  if (traits === undefined) return isSecret(id) && !isPresented(id);
  if (traits.stuck !== undefined || (traits.reload === 'unknown' && setup.policy.consumersFound)) return true;
  const distrusting = store.state?.generations.some((item) => item.role === 'distrusted') === true;
  return distrusting && traits.evidence === 'probed';
};

/** Judges a plan without actions in a quiet world; undefined: something may still happen by itself. */
export const livenessOf = (
  plan: Plan,
  world: Seen,
  waited: boolean,
  isPresented: (object: string) => boolean,
): LivenessVerdict | undefined => {
  const { store } = world;
  if (plan.blockedBy.length === 0) {
    const unmet = store.rotate.some((id) => store.state?.ids.includes(id) !== true);
    if (plan.phase !== 'Stable')
      return { blockedBy: [], failures: [`${plan.phase}, and the plan names no blocker`] };
    return { blockedBy: [], failures: unmet ? ['a requested rotation never came'] : [] };
  }
  const well = plan.blockedBy.filter(({ consumer }) => !mayBlock(consumer, world, isPresented));
  // Consumers that can move get time without end; the others do not, since leaves are renewed again and again.
  const soon = plan.wakeAt !== undefined && plan.wakeAt < store.now + RESTLESS;
  if (soon && (well.length > 0 || !waited)) return undefined;
  return {
    blockedBy: [...new Set(plan.blockedBy.map(({ consumer }) => consumer))],
    failures: well.map(
      ({ consumer, waitsFor }) => `${consumer} works, and the plan waits for it without end: ${waitsFor}`,
    ),
  };
};
