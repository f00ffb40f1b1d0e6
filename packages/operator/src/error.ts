import type { EngineErrorCode } from '@handover/engine';
import type { KubeErrorCode } from '@handover/kube';
import { codeCheck, HandoverError } from '@handover/material';

export type OperatorErrorCode =
  | 'ADDRESS_REFUSED'
  | 'BUNDLE_EMPTY'
  | 'CERTGEN_KEPT_ELSEWHERE'
  | 'AUTHORITY_UNKNOWN'
  | 'CONFLICT'
  | 'CRDS_MISSING'
  | 'EMBED_STOPPED'
  | 'KUBE_CONFLICT'
  | 'KUBE_NOT_FOUND'
  | 'KUBE_OBJECT_UNREADABLE'
  | 'KUBE_UNAVAILABLE'
  | 'NAMESPACE_OVER_SHARE'
  | 'NOT_LOADED'
  | 'OBJECT_OBSTACLE'
  | 'OPTION_INVALID'
  | 'PASSWORD_MISSING'
  | 'PLATFORM_UNKNOWN'
  | 'SEEN_UNREADABLE'
  | 'SIGNING_REQUEST_REFUSED'
  | 'SOURCE_MISSING'
  | 'STATE_OF_ANOTHER'
  | 'STATE_UNREADABLE'
  | 'TLS_PROFILE_SOURCE_FORBIDDEN'
  | 'TLS_PROFILE_SOURCE_MISSING'
  | 'TLS_PROFILE_SOURCE_UNAVAILABLE';

/** HandoverError with the codes of this package: another code does not compile. */
export const OperatorError = HandoverError<OperatorErrorCode>;

/** Tells errors by their code: a code that does not exist does not compile. */
export const isCode = codeCheck<OperatorErrorCode | EngineErrorCode | KubeErrorCode>();
