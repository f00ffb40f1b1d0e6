/** On Secrets and ConfigMaps that the operator keeps. */
export const MANAGED_LABEL = 'handover.dev/managed';
/** Type of the Secrets that hold authorities and their keys. */
export const STATE_TYPE = 'handover.dev/authority';
/** On pods: any change to it makes the kubelet refresh their volumes. */
export const NUDGE = 'handover.dev/nudge';
export const TRUST_HASH = 'handover.dev/trust-hash';
export const TLS_PROFILE_HASH = 'handover.dev/tls-profile-hash';
/** On pod templates: any change to one of them rolls the workload. The last is kubectl's own, for whoever reads it. */
export const TEMPLATE_STAMPS = [TRUST_HASH, TLS_PROFILE_HASH, 'kubectl.kubernetes.io/restartedAt'] as const;
