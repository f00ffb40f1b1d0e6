import { explain } from '@handover/core';
import type { OperatorEvent } from '../run/operator-options.ts';
import type { EmbedEvent } from './events.ts';

/** An operator's event for the embedding program; undefined: none. Plans and observations, which hold keys, are not passed on. */
export const sayToStranger = (event: OperatorEvent): EmbedEvent | undefined => {
  switch (event.kind) {
    case 'acted': {
      const { kind, authority, plan } = event;
      return { kind, authority, phase: plan.phase, did: explain({ ...plan, blockedBy: [] }) };
    }
    case 'rested': {
      const { kind, authority, plan } = event;
      const waitsFor = plan.blockedBy.map((blocker) => `${blocker.consumer}: ${blocker.waitsFor}`);
      return { kind, authority, phase: plan.phase, waitsFor };
    }
    case 'profiled':
      return undefined; // no profile was asked for
    case 'started':
    case 'leading':
    case 'repaired':
    case 'issued':
    case 'obstructed':
    case 'refused':
    case 'failed':
      return event;
    default:
      return event satisfies never;
  }
};
