import { PLATFORM_LABEL } from '@handover/core';
import { TLS_PROFILE_FILES } from '@handover/material';
import type { Catalogue } from '../snapshot/catalogue.ts';
import type { Home, ObjectId } from '../snapshot/home.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { filesFrom } from '../snapshot/stored-object.ts';
import { keepFiles } from './exact-files.ts';

/** Also the names of the environment variables that say the same. */
const PLATFORM_KEYS = [
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

/** What a workload would have to ask the API server for at its start. */
export interface PlatformFacts {
  readonly platform: 'openshift' | 'kubernetes';
  readonly kubernetesVersion: string;
  /** undefined: there is none, or it may not be seen. */
  readonly openShiftVersion: string | undefined;
}

const CONFIG_MAP = 'handover-platform';

export const platformObjectIn = (namespace: string): ObjectId =>
  `${namespace}/configmaps/${CONFIG_MAP}/${PLATFORM_KEYS[0]}`;

/** Namespaces that are told: those with a TLSProfile, and those whose label asks. */
export const toldOfPlatform = ({
  tlsProfiles,
  namespaces,
}: Pick<Catalogue, 'tlsProfiles' | 'namespaces'>): readonly string[] => {
  const asking = [...namespaces].filter(([, labels]) => labels[PLATFORM_LABEL] === 'true');
  return [
    ...new Set([...tlsProfiles.map(({ metadata }) => metadata.namespace), ...asking.map(([name]) => name)]),
  ].sort();
};

/** One file per fact, which pods mount; exactly "true" is true. The names are those of environment variables. */
export const factFiles = (
  facts: PlatformFacts,
): Readonly<Partial<Record<(typeof PLATFORM_KEYS)[number], string>>> => {
  const { platform, kubernetesVersion, openShiftVersion } = facts;
  return {
    HANDOVER_PLATFORM: platform,
    IS_OPENSHIFT: String(platform === 'openshift'),
    KUBERNETES_VERSION: kubernetesVersion,
    ...(openShiftVersion === undefined ? {} : { OPENSHIFT_VERSION: openShiftVersion }),
  };
};

/** Keeps the facts in one namespace. True when they had to be written. */
export const writePlatformFacts = (
  home: Home,
  snapshot: Snapshot,
  namespace: string,
  facts: PlatformFacts,
): Promise<boolean> => keepFiles(home, snapshot, platformObjectIn(namespace), filesFrom(factFiles(facts)));
