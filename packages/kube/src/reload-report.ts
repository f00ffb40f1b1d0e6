import type { HandoverError } from '@handover/material';
import type { KeptEvent, Reason, ReloadedEvent } from '@handover/runtime';

/** The client read a followed file again. For metrics and logs. */
export interface ReloadReport {
  readonly what: 'ca' | 'identity' | 'token';
  readonly reason: Exclude<Reason, 'unchanged'>;
  /** Why the previous material stays in use; undefined: the new material is in use. */
  readonly error: HandoverError | undefined;
}

export type OnReload = ((report: ReloadReport) => void) | undefined;

interface Source {
  on(name: 'reloaded', listener: (event: ReloadedEvent) => void): unknown;
  on(name: 'kept', listener: (event: KeptEvent) => void): unknown;
}

/** With a listener, a failed reload is a report instead of a process warning. */
export const reportReloads = (source: Source, what: ReloadReport['what'], onReload: OnReload): void => {
  if (onReload === undefined) return;
  source.on('reloaded', () => onReload({ what, reason: 'updated', error: undefined }));
  source.on('kept', ({ reason, error }) => onReload({ what, reason, error }));
};
