import { type ProfileWorkload, RELOAD, type Reload, TLS_PROFILE_HASH, type TlsProfile } from '@handover/core';
import { idOf, profileObjectOf, selects } from '@handover/engine';
import { placeOf } from '../objects/place.ts';
import type { Pod } from './pods.ts';
import { mayRead, readsAll } from './references.ts';
import type { Workload } from './workload.ts';
import type { Workloads } from './workload-cache.ts';

export type SelectedWorkload = ProfileWorkload & { readonly version: string };

const workloadId = ({ kind, namespace, name }: Pick<Workload, 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace}/${name}`;

const isSelected = ({ metadata, spec }: TlsProfile, { namespace, labels }: Workload): boolean =>
  spec.workloadSelector !== undefined &&
  metadata.namespace === namespace &&
  selects(spec.workloadSelector, labels);

const configMapOf = (profile: TlsProfile): string => placeOf(profileObjectOf(profile)).name;
const reads = (profile: TlsProfile, { configMaps }: Workload): boolean =>
  configMaps.some((name) => readsAll({ name }) || name === configMapOf(profile));

/** What its owner says of it; never against what can be seen. */
const reloadOf = (workload: Workload, pods: readonly Pod[], configMap: string): Reload => {
  const copied = pods.some(({ references }) =>
    references.some((one) => one.frozen && mayRead(one, { plural: 'configmaps', name: configMap })),
  );
  const said = workload.annotations[RELOAD];
  if (copied || said === 'restart') return 'restart';
  return said === 'hot' ? 'hot' : 'unknown';
};

/** What is known of earlier stamps. */
export interface StampsKnown {
  /** Why a workload cannot be stamped now. */
  readonly obstacle: (consumer: string) => string | undefined;
  readonly undone: (consumer: string, workload: Workload) => ProfileWorkload['undone'];
}

/**
 * Workloads whose pod templates a TLSProfile selects. One that reads several profiles which select it belongs to the oldest of them: it
 * has one stamp.
 */
export const selectedBy = (
  profile: TlsProfile,
  oldestFirst: readonly TlsProfile[],
  workloadCache: Workloads,
  { obstacle, undone }: StampsKnown,
): readonly SelectedWorkload[] => {
  const { namespace } = profile.metadata;
  const selected = workloadCache.workloadsIn(namespace).filter((workload) => isSelected(profile, workload));
  if (selected.length === 0) return [];
  const pods = new Map<string, Pod[]>();
  for (const pod of workloadCache.pods()) {
    if (pod.namespace !== namespace || pod.ended) continue;
    const maker = workloadCache.makerOf(pod);
    const id = `${maker.kind} ${namespace}/${maker.name}`;
    const made = pods.get(id);
    if (made === undefined) pods.set(id, [pod]);
    else made.push(pod);
  }
  return selected.map((workload) => {
    const id = workloadId(workload);
    const own = pods.get(id) ?? [];
    const isReader = reads(profile, workload);
    const first = isReader
      ? oldestFirst.find((candidate) => reads(candidate, workload) && isSelected(candidate, workload))
      : undefined;
    return {
      id,
      version: workload.version,
      reads: isReader,
      reload: reloadOf(workload, own, configMapOf(profile)),
      stamp: workload.annotations[TLS_PROFILE_HASH],
      createdAt: workload.createdAt,
      pods: own.map(({ createdAt }) => createdAt),
      rolling: workload.rolling,
      obstacle: workload.obstacle ?? obstacle(id),
      undone: undone(id, workload),
      takenBy: first === undefined || idOf(first) === idOf(profile) ? undefined : idOf(first),
    };
  });
};
