import type { Instant } from '@handover/material';
import type { PlanningContext } from './evidence.ts';
import type { Blocker } from './gates.ts';
import { heldLeaf } from './held-leaves.ts';
import type { ConsumerSeen, InstanceSeen, Observed, ShownLeaf } from './observed.ts';

/** The object that a leaf is from, as its names or its fingerprint tell; undefined: an earlier leaf of any object. */
const sourceOf = ({ objects }: PlanningContext, { fingerprint, object }: ShownLeaf): string | undefined =>
  object ?? heldLeaf(objects, fingerprint)?.object;

/**
 * What an instance shows in place of the leaf that its owner named, for people; undefined: nothing. Then another program was asked, and
 * nothing that it says is evidence for this consumer. A program with several leaves shows all of them.
 */
export const otherLeaf = (
  context: PlanningContext,
  { expects }: ConsumerSeen,
  { proofs }: InstanceSeen,
): string | undefined => {
  if (expects?.object === undefined) return undefined;
  const nameOf = (object: string): string =>
    context.policy.leaves.find((leaf) => leaf.object === object)?.name ?? object;
  for (const { leaves = [] } of proofs) {
    const shown = leaves.map((leaf) => sourceOf(context, leaf) ?? expects.object);
    if (shown[0] !== undefined && !shown.includes(expects.object))
      return `shows the certificate of Leaf ${nameOf(shown[0])}, expected ${expects.leaf}; correct the address in its status or probe, or its leaf`;
  }
  return undefined;
};

/** Consumers that present a Leaf which the authority does not have: no question about their leaf can be asked. */
export const withoutLeaf = ({ consumers }: Observed, since: Instant): Blocker[] =>
  consumers.flatMap(({ id, expects }) =>
    expects === undefined || expects.object !== undefined
      ? []
      : [
          {
            consumer: id,
            waitsFor: `to present a leaf of this Authority: its spec.consumers[].leaf names ${expects.leaf}, which is no Leaf of this Authority; correct the name, or declare that Leaf`,
            since,
          },
        ],
  );
