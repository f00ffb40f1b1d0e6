import { withRole } from './authority.ts';
import type { PlanningContext } from './evidence.ts';
import type { ConsumerSeen, Observed } from './observed.ts';
import type { Policy } from './policy.ts';

/** Ids of all objects that lie outside the authority's namespace. */
export const elsewhereIn = (seen: Observed, policy: Policy): ReadonlySet<string> =>
  new Set([
    ...seen.objects.flatMap(({ id, elsewhere }) => (elsewhere === true ? [id] : [])),
    ...[...policy.leaves, ...policy.bundles].flatMap(({ object, elsewhere }) =>
      elsewhere === true ? [object] : [],
    ),
  ]);

/** Whether what a consumer shows of an object may count for that object: a neighbour speaks for its own objects only. */
export const maySpeakOf = ({ elsewhere }: PlanningContext, consumer: ConsumerSeen, object: string): boolean =>
  consumer.blocks || elsewhere.has(object);

export interface Part {
  readonly context: PlanningContext;
  readonly seen: Observed;
}

/** The same world as if nothing lay outside the authority's namespace. */
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
 * What a gate asks. What lies elsewhere is asked for twice `reloadWithin` and one `cacheLag` from when the step began: an honest
 * neighbour has loaded everything by then, and any other must not make the step wait for longer.
 */
export const askedPart = (context: PlanningContext, seen: Observed): Part => {
  const { state, policy, clock } = context;
  const begun = (withRole(state, 'next') ?? withRole(state, 'current'))?.since;
  const foreign = context.elsewhere.size > 0 || seen.consumers.some(({ blocks }) => !blocks);
  return foreign && begun !== undefined && clock.aged(begun, 2 * policy.reloadWithin + policy.cacheLag)
    ? ownPart(context, seen)
    : { context, seen };
};
