import type { Board, RestShown } from '@handover/dashboard';
import { restOfStatus, unusableLine } from '@handover/engine';
import type { Clock } from '@handover/material';
import type { Operator } from '@handover/operator';

const NOTHING: RestShown = { trustBundles: [], tlsProfiles: [], run: null, remarks: [] };

/** The status of everything that belongs to no authority, from the operator's memory. */
export const restOf = async (operator: Operator, board: Board): Promise<RestShown> => {
  if (operator.home === undefined) return NOTHING;
  const snapshot = await operator.home.cached();
  board.keepOnly(new Set(snapshot.catalogue.authorities.keys()));
  const rest = await restOfStatus(snapshot);
  return { ...rest, remarks: [...(snapshot.catalogue.leftOut ?? []).map(unusableLine), ...rest.remarks] };
};

const ASIDE_EVERY_MS = 2_000;

/** While another replica leads and the page is open: shows what the leader last recorded. Ends with `signal`. */
export const followLeader = async (
  operator: Operator,
  board: Board,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    await clock.sleep(ASIDE_EVERY_MS, signal);
    if (signal.aborted || operator.leads || !board.watched) continue;
    try {
      for (const look of await operator.lookAside())
        if (!operator.leads) board.saw({ ...look, acted: false });
      board.noteChanged();
    } catch (error) {
      if (!signal.aborted) board.failed('reading what the leader recorded', error);
    }
  }
};

/** Only the leader asks consumers and knows its actions. */
export const noteOf = ({ leads, leader }: Operator): string | undefined => {
  if (leads) return;
  return leader === undefined
    ? 'No replica leads yet: this page starts when one does.'
    : `${leader} leads, not this replica: this page shows the evidence that the leader last recorded, and not its log.`;
};
