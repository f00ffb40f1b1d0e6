import type { Observed, Policy } from '@handover/core';
import type { Planner } from '@handover/engine';
import { isForeign } from './resources.ts';

/** Says of every object whether it lies outside the authority's namespace, whatever the engine says. */
export const withBorders =
  (planner: Planner): Planner =>
  (seen, policy, now) =>
    planner(seenWithBorders(seen), policyWithBorders(policy), now);

const seenWithBorders = (seen: Observed): Observed => ({
  ...seen,
  objects: seen.objects.map((object) => (isForeign(object.id) ? { ...object, elsewhere: true } : object)),
});

const policyWithBorders = (policy: Policy): Policy => ({
  ...policy,
  leaves: policy.leaves.map((leaf) => (isForeign(leaf.object) ? { ...leaf, elsewhere: true } : leaf)),
  bundles: policy.bundles.map((one) => (isForeign(one.object) ? { ...one, elsewhere: true } : one)),
});
