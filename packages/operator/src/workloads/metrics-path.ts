const MOST = 128;
const METRICS_PATHS = /^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*\/(metrics|prometheus)$/;

/**
 * Whether the operator asks for this path of a pod: one that is usual for metrics. An address that a pod claims can be another's, and what a
 * GET of any path does there is not known.
 */
export const isMetricsPath = (path: string): boolean => path.length <= MOST && METRICS_PATHS.test(path);
