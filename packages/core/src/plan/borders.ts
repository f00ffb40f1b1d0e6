import { withRole } from './authority.ts';
import type { PlanningContext } from './evidence.ts';
import type { GateMode } from './gate-mode.ts';
import type { Observed } from './observed.ts';
import type { Policy } from './policy.ts';

/** Ids of all objects that lie outside the authority's namespace. */
export const elsewhereIn = (seen: Observed, policy: Policy): ReadonlySet<string> =>
  new Set([
    ...seen.objects.flatMap(({ id, elsewhere }) => (elsewhere === true ? [id] : [])),
    ...[...policy.leaves, ...policy.bundles].flatMap(({ object, elsewhere }) =>
      elsewhere === true ? [object] : [],
    ),
  ]);

export interface Part {
  readonly context: PlanningContext;
  readonly seen: Observed;
}

/** The same observation without anything outside the authority's namespace. */
export const ownPart = (context: PlanningContext, seen: Observed): Part => {
  const { elsewhere, policy } = context;
  const own = (object: string): boolean => !elsewhere.has(object);
  return {
    context: {
      ...context,
      objects: new Map([...context.objects].filter(([id]) => own(id))),
      policy: {
        ...policy,
        leaves: policy.leaves.filter(({ object }) => own(object)),
        bundles: policy.bundles.filter(({ object }) => own(object)),
      },
    },
    seen: {
      ...seen,
      consumers: seen.consumers
        .filter(({ blocks }) => blocks)
        .map((consumer) => ({
          ...consumer,
          presents: consumer.presents.filter(own),
          verifies: consumer.verifies.filter(own),
        })),
    },
  };
};

/**
 * What gate 1 asks. Verifiers in other namespaces have `reloadWithin` and one `cacheLag` from the start of the step, and twice that time to reload
 * where no cross-certificate covers a slow one: a dishonest one must not delay the step for longer.
 */
export const askedPart = (
  context: PlanningContext,
  seen: Observed,
  { strict }: Pick<GateMode, 'strict'>,
): Part => {
  const { state, policy, clock } = context;
  const begun = withRole(state, 'next')?.since;
  const foreign = context.elsewhere.size > 0 || seen.consumers.some(({ blocks }) => !blocks);
  const wait = (strict === undefined ? 1 : 2) * policy.reloadWithin + policy.cacheLag;
  return foreign && begun !== undefined && clock.aged(begun, wait)
    ? ownPart(context, seen)
    : { context, seen };
};
