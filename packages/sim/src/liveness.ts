import type { Plan } from '@handover/core';
import { hour } from '@handover/material';
import { isForeign, isSecret } from './resources.ts';
import type { Traits } from './traits.ts';
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
  if (traits === undefined) return isSecret(id) && !isForeign(id) && !isPresented(id);
  if (!traits.blocks) return false;
  if (traits.stuck !== undefined || (traits.reload === 'unknown' && setup.policy.consumersFound)) return true;
  const distrusting = store.state?.generations.some((item) => item.role === 'distrusted') === true;
  return distrusting && traits.evidence === 'probed';
};

/** CAs without their keys that stay trusted, although every workload of another namespace shows, or will show, a newer leaf. */
const keptForNothing = ({ retained }: Plan, { consumers }: Seen): readonly string[] => {
  const shows = ({ stuck, evidence, ownersWord, reload }: Traits): boolean =>
    stuck === undefined && (evidence !== 'none' || ownersWord || reload === 'restart');
  return retained.flatMap(({ generation, elsewhere, unseen }) => {
    const well = [...consumers.values()].flatMap(({ traits }) =>
      shows(traits) && elsewhere.some((user) => user.startsWith(`${traits.id} (`)) ? [traits.id] : [],
    );
    if (well.length > 0)
      return [`CA generation ${generation} stays trusted for ${well.join(', ')} without end`];
    return elsewhere.length === 0 && !unseen ? [`CA generation ${generation} stays trusted for nothing`] : [];
  });
};

/** Judges a plan without actions in a quiet world; undefined: something may still happen by itself. */
export const livenessOf = (
  plan: Plan,
  world: Seen,
  waited: boolean,
  isPresented: (object: string) => boolean,
): LivenessVerdict | undefined => {
  const { store } = world;
  // Consumers that can move get time without end; the others do not, since leaves are renewed again and again.
  const soon = plan.wakeAt !== undefined && plan.wakeAt < store.now + RESTLESS;
  if (plan.blockedBy.length === 0) {
    const kept = keptForNothing(plan, world);
    if (kept.length > 0) return soon && !waited ? undefined : { blockedBy: [], failures: kept };
    const unmet = store.rotate.some((id) => store.state?.ids.includes(id) !== true);
    if (plan.phase !== 'Stable')
      return { blockedBy: [], failures: [`${plan.phase}, and the plan names no blocker`] };
    return { blockedBy: [], failures: unmet ? ['a requested rotation never came'] : [] };
  }
  const well = plan.blockedBy.filter(({ consumer }) => !mayBlock(consumer, world, isPresented));
  if (soon && (well.length > 0 || !waited)) return undefined;
  return {
    blockedBy: [...new Set(plan.blockedBy.map(({ consumer }) => consumer))],
    failures: well.map(
      ({ consumer, waitsFor }) => `${consumer} works, and the plan waits for it without end: ${waitsFor}`,
    ),
  };
};
