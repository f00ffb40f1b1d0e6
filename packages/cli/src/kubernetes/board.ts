import type { Board, Rest } from '@handover/dashboard';
import { restOfStatus } from '@handover/engine';
import type { Operator, OperatorEvent } from '@handover/operator';
import { pause } from '../directory/pause.ts';
import { CliError } from '../error.ts';

const NOTHING: Rest = { trustBundles: [], tlsProfiles: [], remarks: [] };

/** What belongs to no authority, out of what the operator has in memory already. */
export const restOf = async (operator: Operator, board: Board): Promise<Rest> => {
  if (operator.home === undefined) return NOTHING;
  const look = await operator.home.cached();
  board.keepOnly(new Set(look.catalogue.authorities.keys()));
  return restOfStatus(look);
};

const ASIDE_EVERY_MS = 2_000;

/** While another replica leads and a browser watches this page: what the leader last wrote down. Ends with `signal`. */
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
      if (!signal.aborted) board.failed('looking at what the leader wrote', error);
    }
  }
};

/** Only the leader asks consumers, and only it knows what it did. */
export const noteOf = ({ leads, leader }: Operator): string | undefined => {
  if (leads) return;
  return leader === undefined
    ? 'Nobody leads yet: this page begins when somebody does.'
    : `${leader} leads, not this replica: evidence is what the leader last wrote down, and its log is its own.`;
};

/** Shows what an operator has to say. */
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
