import { duration, second } from '@handover/material';

/** The kubelet's cache can hand a file that is this old to a starting pod. */
export const CACHE_LAG = duration(10 * second);
/**
 * The kubelet keeps a ClusterTrustBundle that it found by name for five minutes, whatever changes, also for pods that start meanwhile: 290 to
 * 310 s measured with Kubernetes 1.35 and 1.36, 357 s with 1.37.1, up to 374 s with its candidates (kubernetes#141439).
 */
export const TRUST_BUNDLE_LAG = duration(380 * second);
