import { TLS_PROFILE_FILES } from '@handover/material';

/** Also the names of the environment variables that say the same. */
export const PLATFORM_KEYS = [
  'HANDOVER_PLATFORM',
  'IS_OPENSHIFT',
  'KUBERNETES_VERSION',
  'OPENSHIFT_VERSION',
] as const;

/** Files that change together, in one write, under the name of the first. */
const TOGETHER: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  [TLS_PROFILE_FILES[0], TLS_PROFILE_FILES],
  [PLATFORM_KEYS[0], PLATFORM_KEYS],
]);

/** Files of an object that goes by `key`. */
export const filesUnder = (key: string): readonly string[] => TOGETHER.get(key) ?? [key];
