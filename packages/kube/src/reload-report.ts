import type { HandoverError } from '@handover/material';
import type { KeptEvent, Reason, ReloadedEvent } from '@handover/runtime';

/** A file that the client follows was read anew: for metrics and logs. */
export interface ReloadReport {
  readonly what: 'ca' | 'identity' | 'token';
  readonly reason: Exclude<Reason, 'unchanged'>;
  /** Why the last good material stays in use; undefined: it does not. */
  readonly error: HandoverError | undefined;
}

export type OnReload = ((report: ReloadReport) => void) | undefined;

interface Source {
  on(name: 'reloaded', listener: (event: ReloadedEvent) => void): unknown;
  on(name: 'kept', listener: (event: KeptEvent) => void): unknown;
}

/** Whoever wants reports gets the warnings too, instead of the process. */
export const reportReloads = (source: Source, what: ReloadReport['what'], onReload: OnReload): void => {
  if (onReload === undefined) return;
  source.on('reloaded', () => onReload({ what, reason: 'updated', error: undefined }));
  source.on('kept', ({ reason, error }) => onReload({ what, reason, error }));
};
