import { channel } from 'node:diagnostics_channel';
import type { KeptEvent, ReloadedEvent } from './outcome.ts';

const reloaded = channel('handover:reloaded');
const kept = channel('handover:kept');

/** For metrics and traces of a whole process. Nothing in a message is secret. */
export function publishReloaded(path: string, { loads, at }: ReloadedEvent): void {
  if (reloaded.hasSubscribers) reloaded.publish({ path, loads, at });
}

export function publishKept({ path, reason, error, at }: KeptEvent): void {
  if (kept.hasSubscribers) kept.publish({ path, reason, code: error.code, at });
}
