import { codeCheck, HandoverError } from '@handover/material';

export type KubeErrorCode =
  | 'FILE_UNREADABLE'
  | 'KUBECONFIG_CONTRADICTION'
  | 'KUBECONFIG_EXEC_FAILED'
  | 'KUBECONFIG_INCOMPLETE'
  | 'KUBECONFIG_MALFORMED'
  | 'KUBECONFIG_NOT_FOUND'
  | 'KUBECONFIG_NO_CONTEXT'
  | 'KUBECONFIG_UNREADABLE'
  | 'KUBECONFIG_UNSUPPORTED'
  | 'KUBE_ABORTED'
  | 'KUBE_ALREADY_EXISTS'
  | 'KUBE_BAD_ANSWER'
  | 'KUBE_BAD_REQUEST'
  | 'KUBE_CLIENT_CERTIFICATE_REFUSED'
  | 'KUBE_CONFLICT'
  | 'KUBE_FORBIDDEN'
  | 'KUBE_GONE'
  | 'KUBE_INTERNAL'
  | 'KUBE_INVALID'
  | 'KUBE_METHOD_NOT_ALLOWED'
  | 'KUBE_NAME_INVALID'
  | 'KUBE_NOT_ACCEPTABLE'
  | 'KUBE_NOT_FOUND'
  | 'KUBE_OBJECT_UNREADABLE'
  | 'KUBE_PROXY_REFUSED'
  | 'KUBE_STREAM_UNSUPPORTED'
  | 'KUBE_TIMEOUT'
  | 'KUBE_TOO_LARGE'
  | 'KUBE_TOO_MANY_REQUESTS'
  | 'KUBE_UNAUTHORIZED'
  | 'KUBE_UNAVAILABLE'
  | 'KUBE_WATCH_SILENT'
  | 'LEASE_LOST'
  | 'OPTION_INVALID';

/** HandoverError with the codes of this package: another code does not compile. */
export const KubeError = HandoverError<KubeErrorCode>;

/** Tells errors by their code: a code that does not exist does not compile. */
export const isCode = codeCheck<KubeErrorCode>();
