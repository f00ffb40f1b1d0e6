/**
 * Whether this pod was told that it runs on OpenShift: `IS_OPENSHIFT` is exactly `true`. Whoever deploys the pod knows it; nobody
 * has to ask an API server at startup.
 */
export const isOpenShift = (env: Readonly<Record<string, string | undefined>> = process.env): boolean =>
  env.IS_OPENSHIFT === 'true';
