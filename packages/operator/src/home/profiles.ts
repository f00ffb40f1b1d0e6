import { idOf, type ProfileReader } from '@handover/engine';
import type { Instant } from '@handover/material';
import { readOpenShiftProfile } from '../objects/openshift.ts';
import type { KubeRollouts } from '../workloads/rollouts.ts';
import { selectedBy } from '../workloads/selected.ts';
import type { KubeHomeOptions } from './options.ts';
import type { Resolver } from './resolver.ts';

/** What a TLSProfile needs to know of a cluster. */
export const profilesOf = (
  { connection: { kube, signal }, resources, consumers: { workloads } }: KubeHomeOptions,
  resolver: Resolver,
  rollouts: KubeRollouts | undefined,
  now: () => Instant,
): ProfileReader => ({
  cluster: resources.clusterProfile ?? (() => readOpenShiftProfile(kube, signal)),
  workloads: (profile) =>
    workloads === undefined
      ? []
      : selectedBy(profile, resolver.last?.catalogue.tlsProfiles ?? [], workloads, {
          obstacle: (consumer) => rollouts?.obstacles.why(consumer, now()),
          undone: (consumer, workload) => rollouts?.undone(consumer, workload),
        }),
  remembered: (profile) => resolver.writtenHash(idOf(profile)),
});
