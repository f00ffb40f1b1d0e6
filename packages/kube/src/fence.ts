import { HandoverError } from '@handover/material';
import type { Fence } from './kube.ts';

/** The term now held. Throws when none is, or another than the one given. */
export function mustHold(fence: Fence, term?: number): number {
  const now = fence.term;
  if (now === undefined || (term !== undefined && now !== term)) {
    throw new HandoverError(
      'LEASE_LOST',
      'this process does not lead any more, so it writes nothing; wait until it leads again and decide anew',
      { retry: 'later' },
    );
  }
  return now;
}
