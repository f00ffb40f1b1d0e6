import type { Board } from '@handover/dashboard';
import type { ControllerEvent } from '@handover/engine';
import { CliError } from './error.ts';

/** Shows on the dashboard what a controller tells. */
export const tellBoard = (board: Board, event: ControllerEvent): void => {
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
    case 'repaired':
      // Without a manager the board reads repairs off each look.
      if (event.manager !== undefined) board.repaired(event.object, `${event.manager} had changed it`);
      return;
    case 'hooked':
      // Hooks of authorities are part of their status; that of a bundle without one is read with the rest.
      board.reread();
      return;
    case 'started':
    case 'profiled':
    case 'issued':
      return;
    default:
      event satisfies never;
  }
};
