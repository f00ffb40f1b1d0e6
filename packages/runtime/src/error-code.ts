// Apart from the class, which imports a package: published types may not.
import type { MaterialErrorCode } from '@handover/material';

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
