/**
 * Whether `IS_OPENSHIFT` is exactly `true`. The deployment sets it, so that a pod need not ask an API server at startup.
 *
 * @example
 * ```ts
 * import { isOpenShift } from '@handover/runtime/openshift';
 *
 * console.log(isOpenShift({ IS_OPENSHIFT: 'true' })); // true
 * ```
 */
export const isOpenShift = (env: Readonly<Record<string, string | undefined>> = process.env): boolean =>
  env.IS_OPENSHIFT === 'true';
