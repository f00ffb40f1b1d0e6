import type { Board, Rest } from '@handover/dashboard';
import { restOfStatus, throughCache } from '@handover/engine';
import type { Operator } from '@handover/operator';
import { pause } from '@handover/runtime/pause';

const NOTHING: Rest = { trustBundles: [], tlsProfiles: [], remarks: [] };

/** What belongs to no authority, from the operator's caches. */
export const restOf = async (operator: Operator, board: Board): Promise<Rest> => {
  const { home, resolved } = operator;
  if (home === undefined || resolved === undefined) return NOTHING;
  const { catalogue } = await resolved;
  board.keepOnly(new Set(catalogue.authorities.keys()));
  return restOfStatus(throughCache(home, home.cached), catalogue);
};

const ASIDE_EVERY_MS = 2_000;

/** While another replica leads and a browser shows this page: what the leader last wrote down. Ends with `signal`. */
export const followLeader = async (
  operator: Operator,
  board: Board,
  signal: AbortSignal,
  every: number = ASIDE_EVERY_MS,
): Promise<void> => {
  while (!signal.aborted) {
    await pause(every, signal);
    if (signal.aborted || operator.leads || !board.watched) continue;
    try {
      for (const look of await operator.lookAside())
        if (!operator.leads) board.saw({ ...look, acted: false });
      board.noteChanged();
    } catch (error) {
      if (!signal.aborted) board.failed('reading what the leader wrote down', error);
    }
  }
};

/** Only the leader asks consumers, and only the leader knows what it did. */
export const noteOf = ({ leads, leader }: Operator): string | undefined => {
  if (leads) return;
  return leader === undefined
    ? 'No replica leads yet. This page begins when one does.'
    : `${leader} leads, not this replica: evidence is what the leader last wrote down, and the leader’s log is not shown here.`;
};
