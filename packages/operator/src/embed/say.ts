import { explain, waitGroups } from '@handover/core';
import type { ControllerEvent } from '@handover/engine';
import type { EmbedEvent } from './events.ts';

/** An event without plans, observations and keys, for the program that embeds the operator; undefined: it says nothing there. */
export const sayToStranger = (event: ControllerEvent): EmbedEvent | undefined => {
  switch (event.kind) {
    case 'acted': {
      const { kind, authority, plan } = event;
      return { kind, authority, phase: plan.phase, did: explain({ ...plan, blockedBy: [] }) };
    }
    case 'rested': {
      const { kind, authority, plan } = event;
      const waitsFor = waitGroups(plan.blockedBy).map(({ phrase }) => phrase);
      return { kind, authority, phase: plan.phase, waitsFor };
    }
    case 'repaired':
      return { ...event, manager: event.manager ?? 'an unknown program' };
    case 'loaded':
    case 'profiled':
    case 'hooked':
      return undefined; // of resources and homes that an embedded authority does not have
    case 'started':
    case 'leading':
    case 'issued':
    case 'obstructed':
    case 'refused':
    case 'failed':
      return event;
    default:
      return event satisfies never;
  }
};
