import { HandoverError, type Retry } from '@handover/material';
import type { RuntimeErrorCode } from './error-code.ts';

const KNOWN: Record<string, readonly [code: RuntimeErrorCode, what: string, retry: Retry]> = {
  ENOENT: ['FILE_MISSING', 'does not exist; mount or create it', 'later'],
  ENOTDIR: ['FILE_MISSING', 'is below a path that is not a directory; correct the path', 'never'],
  EACCES: ['FILE_FORBIDDEN', 'is not readable by this process; correct its owner or mode', 'never'],
  EPERM: ['FILE_FORBIDDEN', 'is not readable by this process; correct its owner or mode', 'never'],
  ELOOP: ['FILE_LINK_LOOP', 'is a link loop, or a link that changed while it was read', 'later'],
  EISDIR: ['FILE_NOT_REGULAR', 'is a directory, not a file', 'never'],
  ENXIO: ['FILE_NOT_REGULAR', 'is a pipe, socket or device, not a file', 'never'],
};

/** Gives a system error about a file a code and an action. Any other error is thrown on. */
export function fileError(path: string, cause: unknown): HandoverError {
  if (cause instanceof HandoverError) return cause;
  const errno = (cause as NodeJS.ErrnoException | undefined)?.code;
  if (errno === undefined) throw cause;
  const [code, what, retry] = KNOWN[errno] ?? ['FILE_UNREADABLE', `cannot be read (${errno})`, 'later'];
  return new RuntimeError(code, `${path} ${what}`, { path, retry, cause });
}

export type { RuntimeErrorCode } from './error-code.ts';

/** HandoverError with the codes of this package: another code does not compile. */
export const RuntimeError = HandoverError<RuntimeErrorCode>;
