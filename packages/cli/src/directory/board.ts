import type { Board } from '@handover/dashboard';
import type { RunEvent } from '@handover/engine';

/** Shows the events of `handover run`. */
export const tellBoard = (board: Board, event: RunEvent): void => {
  switch (event.kind) {
    case 'acted':
    case 'rested': {
      const { authority, plan, observation } = event;
      board.saw({ authority, plan, observation, acted: event.kind === 'acted' });
      return;
    }
    case 'loaded':
      board.keepOnly(new Set(event.catalogue.authorities.keys()));
      board.reread();
      return;
    case 'failed':
      board.failed(event.what, event.error);
      return;
    case 'untold':
      return;
    default:
      event satisfies never;
  }
};
