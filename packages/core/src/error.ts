import { codeCheck, HandoverError, type MaterialErrorCode } from '@handover/material';

export type CoreErrorCode =
  | 'CERTIFICATE_MALFORMED'
  | 'ISSUE_DATES'
  | 'ISSUE_GENERATION'
  | 'ISSUE_KEY_MISMATCH'
  | 'ISSUE_KEY_UNSUPPORTED'
  | 'ISSUE_NAME'
  | 'ISSUE_NOT_A_CA'
  | 'ISSUE_NO_NAME'
  | 'ISSUE_SERIAL'
  | 'ISSUE_SUBJECT'
  | 'ISSUE_USAGES'
  | 'KEYSTORE_MALFORMED'
  | 'KEYSTORE_PASSWORD'
  | 'KEYSTORE_UNSUPPORTED'
  | 'PASSWORD_UNUSABLE'
  | 'RESOURCE_DUPLICATE'
  | 'RESOURCE_INVALID'
  | 'SIGNING_REQUEST_KEY_TYPE'
  | 'SIGNING_REQUEST_MALFORMED'
  | 'SIGNING_REQUEST_UNPROVEN';

/** HandoverError with the codes of this package: another code does not compile. */
export const CoreError = HandoverError<CoreErrorCode>;

/** Tells errors by their code: a code that does not exist does not compile. */
export const isCode = codeCheck<CoreErrorCode | MaterialErrorCode>();
