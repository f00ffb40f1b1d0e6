import type { ConsumerSeen, Plan } from '@handover/core';
import { askAgainMs } from '@handover/engine';
import { after, type Instant } from '@handover/material';

/**
 * When the consumers of a step that waits are asked again. Pods and workloads tell by events when they change: undefined where none
 * has an address at which it is asked, whether it answers or not.
 */
export const askAgainAt = (
  { blockedBy: [blocker] }: Pick<Plan, 'blockedBy'>,
  consumers: readonly Pick<ConsumerSeen, 'instances'>[],
  now: Instant,
): Instant | undefined => {
  const isAsked = consumers.some(({ instances }) =>
    instances.some(({ proofs, unread }) => proofs.length > 0 || unread !== undefined),
  );
  return blocker === undefined || !isAsked ? undefined : after(now, askAgainMs(now - blocker.since));
};
