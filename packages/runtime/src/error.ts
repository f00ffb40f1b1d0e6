import { HandoverError, type MaterialErrorCode, type Retry } from '@handover/material';

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

export type RuntimeErrorCode =
  | 'BUNDLE_NO_CA'
  | 'CERTIFICATE_EXPIRED'
  | 'CERTIFICATE_NOT_YET_VALID'
  | 'FILE_EMPTY'
  | 'FILE_FORBIDDEN'
  | 'FILE_LINK_LOOP'
  | 'FILE_MISSING'
  | 'FILE_NOT_REGULAR'
  | 'FILE_TOO_LARGE'
  | 'FILE_UNREADABLE'
  | 'IDENTITY_REFUSED'
  | 'KEY_MISMATCH'
  | 'KEY_MISSING'
  | 'LOAD_FAILED'
  | 'NOT_IN_CLUSTER'
  | 'NOT_LOADED'
  | 'OPTION_INVALID'
  | 'PEER_MISSING'
  | 'PEER_UNUSABLE'
  | 'PEM_NO_CERTIFICATE'
  | 'RUNTIME_UNSUPPORTED'
  | 'STATUS_LISTEN_FAILED'
  | 'STATUS_WRITE_FAILED'
  | 'TOKEN_MALFORMED'
  | 'URL_REFUSED';

/**
 * Every code of an error of this package.
 *
 * @example
 * ```ts
 * import { type ErrorCode, HandoverError, openTrust } from '@handover/runtime';
 *
 * const isMissing = (code: ErrorCode) => code === 'FILE_MISSING';
 * await openTrust('/etc/mesh/none.crt').catch((error: HandoverError<ErrorCode>) => {
 *   console.log(isMissing(error.code)); // true
 * });
 * ```
 */
export type ErrorCode = RuntimeErrorCode | MaterialErrorCode;

/** HandoverError with the codes of this package: another code does not compile. */
export const RuntimeError = HandoverError<RuntimeErrorCode>;
