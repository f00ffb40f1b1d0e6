import type { Board, Rest } from '@handover/dashboard';
import { restOfStatus, throughCache } from '@handover/engine';
import { HandoverError } from '@handover/material';
import type { Operator, OperatorEvent } from '@handover/operator';

const NOTHING: Rest = { trustBundles: [], tlsProfiles: [], remarks: [] };

/** What belongs to no authority, out of what the operator has in memory already. */
export const restOf = async (operator: Operator, board: Board): Promise<Rest> => {
  const { home, register } = operator;
  if (home === undefined || register === undefined) return NOTHING;
  const { catalogue } = await register;
  board.keepOnly(new Set(catalogue.authorities.keys()));
  return restOfStatus(throughCache(home, home.cached), catalogue);
};

/** Only the leader looks at consumers, so that only its page is live. */
export const noteOf = ({ leads, leader }: Operator): string | undefined => {
  if (leads) return;
  return leader === undefined
    ? 'Nobody leads yet: this page begins when somebody does.'
    : `This replica does not lead, and knows nothing newer than what is below. Look at the one that does: ${leader}`;
};

/** Shows what an operator has to say. */
export const tellBoardOf = (board: Board, event: OperatorEvent): void => {
  switch (event.kind) {
    case 'acted':
    case 'rested': {
      const { authority, plan, sight } = event;
      board.saw({ authority, plan, sight, acted: event.kind === 'acted' });
      return;
    }
    case 'leading':
      board.noteChanged();
      return;
    case 'failed':
      board.failed(event.what, event.error);
      return;
    case 'refused':
      board.failed(event.object, new HandoverError('NOT_INJECTED', event.why));
      return;
    case 'obstructed':
      for (const obstacle of event.obstacles)
        board.failed(event.authority, new HandoverError('OBSTRUCTED', obstacle));
      return;
    case 'started':
      return;
    case 'repaired':
      board.repaired(event.object, `${event.manager} had changed it`);
      return;
    default:
      event satisfies never;
  }
};
