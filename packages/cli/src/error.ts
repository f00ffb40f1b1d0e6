import type { EngineErrorCode } from '@handover/engine';
import { codeCheck, HandoverError } from '@handover/material';

export type CliErrorCode =
  | 'ADOPT_UNDECIDED'
  | 'CERTGEN_NOT_VALID'
  | 'FILE_EMPTY'
  | 'FILE_FORBIDDEN'
  | 'FILE_LINK_LOOP'
  | 'FILE_MISSING'
  | 'FILE_NOT_REGULAR'
  | 'FILE_TOO_LARGE'
  | 'FILE_UNREADABLE'
  | 'GENERATION_UNKNOWN'
  | 'HOME_NOT_EMPTY'
  | 'HOOK_UNANSWERED'
  | 'HOOK_UNKNOWN'
  | 'INSTALL_OPTION'
  | 'NOT_INJECTED'
  | 'NOT_SERVED'
  | 'OBJECT_OBSTACLE'
  | 'OBSTRUCTED'
  | 'PEM_NO_CERTIFICATE'
  | 'ROTATION_UNFINISHED'
  | 'RUN_INCOMPLETE'
  | 'SERVICE_MISSING'
  | 'SERVICE_WITHOUT_PODS'
  | 'STATUS_DOCUMENT'
  | 'TLS_CLOSED'
  | 'TLS_NOT_TLS'
  | 'TLS_SILENT'
  | 'TLS_UNCHECKED'
  | 'TLS_UNREACHABLE'
  | 'USAGE';

/** HandoverError with the codes of this package: another code does not compile. */
export const CliError = HandoverError<CliErrorCode>;

/** Tells errors by their code: a code that does not exist does not compile. */
export const isCode = codeCheck<CliErrorCode | EngineErrorCode>();
