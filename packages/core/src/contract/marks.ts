/** On Secrets and ConfigMaps that the operator manages. */
export const MANAGED_LABEL = 'handover.dev/managed';
/** On a resource: its objects may be overwritten although another program made them. On such an object: its owner agrees. */
export const ADOPT = 'handover.dev/adopt';
/** What the operator wrote into an object, and when. */
export const RECORD = 'handover.dev/record';
/** Type of the Secrets that hold authorities and their keys. */
export const STATE_TYPE = 'handover.dev/authority';
/** On pods: any change to it makes the kubelet refresh their volumes. */
export const NUDGE = 'handover.dev/nudge';
export const TRUST_HASH = 'handover.dev/trust-hash';
export const TLS_PROFILE_HASH = 'handover.dev/tls-profile-hash';
/** On pod templates: any change to one of them rolls the workload. The last is kubectl's own. */
export const TEMPLATE_STAMPS = [TRUST_HASH, TLS_PROFILE_HASH, 'kubectl.kubernetes.io/restartedAt'] as const;

/** service-ca's annotations that admission policies use as well. */
export const SERVICE_CA = {
  /** On ConfigMaps and API fields that ask for the bundle. */
  inject: 'service.beta.openshift.io/inject-cabundle',
  /** On Services: why a Service has no certificate, and how often issuing failed. */
  error: 'service.beta.openshift.io/serving-cert-generation-error',
  errorNum: 'service.beta.openshift.io/serving-cert-generation-error-num',
} as const;

/** Annotations of other programs that the operator can honour. */
export const COMPAT = ['cainjector', 'service-ca', 'reloader'] as const;
export type Compat = (typeof COMPAT)[number];
