import type { Board, Rest } from '@handover/dashboard';
import { restOfStatus, throughCache } from '@handover/engine';
import type { Operator, OperatorEvent } from '@handover/operator';
import { pause } from '@handover/runtime/pause';
import { CliError } from '../error.ts';

const NOTHING: Rest = { trustBundles: [], tlsProfiles: [], remarks: [] };

/** The status of everything that belongs to no authority, from the operator's memory. */
export const restOf = async (operator: Operator, board: Board): Promise<Rest> => {
  const { home, resolved } = operator;
  if (home === undefined || resolved === undefined) return NOTHING;
  const { catalogue } = await resolved;
  board.keepOnly(new Set(catalogue.authorities.keys()));
  return restOfStatus(throughCache(home, home.cached), catalogue);
};

const ASIDE_EVERY_MS = 2_000;

/** While another replica leads and the page is open: shows what the leader last recorded. Ends with `signal`. */
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

/** Shows an operator's events. */
export const tellBoardOf = (board: Board, event: OperatorEvent): void => {
  switch (event.kind) {
    case 'acted':
    case 'rested': {
      const { authority, plan, observation } = event;
      board.saw({ authority, plan, observation, acted: event.kind === 'acted' });
      return;
    }
    case 'leading':
      board.noteChanged();
      return;
    case 'failed':
      board.failed(event.what, event.error);
      return;
    case 'refused':
      board.failed(event.object, new CliError('NOT_INJECTED', event.why));
      return;
    case 'obstructed':
      for (const obstacle of event.obstacles)
        board.failed(event.authority, new CliError('OBSTRUCTED', obstacle));
      return;
    case 'started':
    case 'profiled':
    case 'issued':
      return;
    case 'repaired':
      board.repaired(event.object, `${event.manager} had changed it`);
      return;
    default:
      event satisfies never;
  }
};
