import type { Instant } from '@handover/material';
import type { CutEvent, Failure } from '../outcome.ts';
import { isoTime } from '../status/status.ts';
import { warn } from '../warn.ts';
import type { Stage } from './expiry.ts';

/** Errors of watches that this process has warned of: each concerns the whole system. */
const WARNED = new Set<string | undefined>();

/** Files are not watched, but read at each poll. */
export function warnOfPoll(path: string, pollMs: number, { code }: NodeJS.ErrnoException): void {
  if (WARNED.has(code)) return;
  WARNED.add(code);
  warn(
    'WATCH_UNAVAILABLE',
    `${path} cannot be watched (${code}) and is read every ${pollMs / 1000} s; raise fs.inotify.max_user_watches and fs.inotify.max_user_instances`,
  );
}

export function warnOfExpiry(path: string, stage: Stage, notAfter: Instant): void {
  const when = isoTime(notAfter);
  if (stage === 'expiring') {
    warn('LEAF_EXPIRING', `${path} expires at ${when}; find out why it is not renewed`);
  } else {
    warn('LEAF_EXPIRED', `${path} expired at ${when} and is still in use; write a new one`);
  }
}

export function warnOfCut(path: string, { connections }: CutEvent): void {
  const which = connections === 1 ? '1 connection was' : `${connections} connections were`;
  warn(
    'CONNECTIONS_CUT',
    `${which} ended, drainMs after the CA that had accepted the peer was removed from ${path}`,
  );
}

export const warnOfFailure = ({ reason, error }: Failure): void =>
  warn(error.code, `${error.message}; the last good material stays in use (${reason})`);
