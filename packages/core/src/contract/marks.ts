import { TLS_PROFILE_HASH } from '@handover/material';

// Names of Handover's annotations and labels. annotations.ts says what each means.
export const RELOAD = 'handover.dev/reload';
export const ACK_PORT = 'handover.dev/ack-port';
export const EVIDENCE = 'handover.dev/evidence';
export const PROBE = 'handover.dev/probe';
export const USED_BY = 'handover.dev/used-by';
export const ROTATE = 'handover.dev/rotate';
export const DISTRUST = 'handover.dev/distrust';
export const INJECT_FROM = 'handover.dev/inject-ca-from';
export const TAKE_OVER = 'handover.dev/take-over';
export const ADOPT = 'handover.dev/adopt';
export const PLATFORM_LABEL = 'handover.dev/platform-facts';
export const RECORD = 'handover.dev/record';
export const AUTHORITY = 'handover.dev/authority';
export const AUTHORITY_UID = 'handover.dev/authority-uid';
export const STATE_LABEL = 'handover.dev/authority-state';
export const MANAGED_LABEL = 'handover.dev/managed';
export const MANAGED_BY = 'app.kubernetes.io/managed-by';
export const NUDGE = 'handover.dev/nudge';
export const TRUST_HASH = 'handover.dev/trust-hash';
export { TLS_PROFILE_HASH };

/** Type of the Secrets that hold authorities and their keys. */
export const STATE_TYPE = AUTHORITY;
export const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';
/** On pod templates: any change to one of them rolls the workload. */
export const TEMPLATE_STAMPS = [TRUST_HASH, TLS_PROFILE_HASH, RESTARTED_AT] as const;
