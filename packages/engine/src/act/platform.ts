import { PLATFORM_LABEL } from '@handover/core';
import type { Catalogue } from '../snapshot/catalogue.ts';
import type { Home, ObjectId } from '../snapshot/home.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { filesFrom } from '../snapshot/stored-object.ts';
import { keepFiles } from './exact-files.ts';
import { PLATFORM_KEYS } from './file-groups.ts';

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
