import { KubeError } from './error.ts';
import type { Fence } from './kube.ts';

/** The current term. Throws when no term is held, or another than the given one. */
export function mustHold(fence: Fence, term?: number): number {
  const now = fence.term;
  if (now === undefined || (term !== undefined && now !== term)) {
    throw new KubeError(
      'LEASE_LOST',
      'this process has lost its lease, so the write did not leave; wait until it leads again, then decide again',
      { retry: 'later' },
    );
  }
  return now;
}
