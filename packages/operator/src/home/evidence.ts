import {
  Canaries,
  type CanaryTools,
  type CreationDates,
  DeclaredConsumers,
  EarlierLeaves,
  type EvidenceSource,
  FairSemaphore,
} from '@handover/engine';
import type { Instant } from '@handover/material';
import type { Source } from '../objects/fresh.ts';
import { Addresses } from '../workloads/addresses.ts';
import { combineEvidence, fieldConsumers, wordOfOwners } from '../workloads/api-fields.ts';
import { PodConsumers } from '../workloads/consumers.ts';
import { podsOnly } from '../workloads/endpoints.ts';
import { PodEvidence } from '../workloads/pod-evidence.ts';
import type { KubeRollouts } from '../workloads/rollouts.ts';
import type { KubeHomeOptions } from './options.ts';

/** Pods and servers asked at once, in all and of one namespace: docs/decisions/0403. */
const ASKED_AT_ONCE = { inAll: 256, each: 32 } as const;

export interface EvidenceTools {
  readonly options: KubeHomeOptions;
  readonly making: CanaryTools;
  readonly creationDates: CreationDates;
  readonly rollouts: KubeRollouts | undefined;
  readonly source: Source;
  readonly now: () => Instant;
}

/** API fields, consumers that an Authority declares, and those whose pods read something of it. `fresh`: pods past the cache. */
export const evidenceWith = ({
  options: { connection, scope, resources, consumers, meters, externallyHeld },
  making,
  creationDates,
  rollouts,
  source,
  now,
}: EvidenceTools): ((fresh: boolean) => EvidenceSource) => {
  const { evidence, workloads, wordOf = () => undefined, podLeaves } = consumers;
  if (evidence !== undefined) return () => evidence;
  const { kube, signal } = connection;
  const addresses = (consumers.addresses ?? new Addresses()).sparing(kube.config.server);
  const semaphore = new FairSemaphore(ASKED_AT_ONCE);
  const tools = { ...making, clock: kube.clock, meters, canaries: new Canaries(making), semaphore };
  const showing = new PodEvidence({ ...tools, addresses });
  const declared = new DeclaredConsumers(tools, podsOnly({ kube, addresses, signal }));
  const fields: EvidenceSource = {
    consumers: async (responsibilities, _record, _now, { orphans }) => [
      ...fieldConsumers(responsibilities),
      ...wordOfOwners(
        responsibilities,
        new Map(orphans.map((id) => [id, externallyHeld?.wordsOn(id) ?? {}])),
      ),
    ],
  };
  const reloader =
    consumers.reloader === true
      ? {
          takeOver: resources.takeOver,
          trusted: [scope.namespace],
          annotationsOf: async (plural: 'secrets' | 'configmaps', namespace: string, name: string) =>
            (await source.held({ plural, namespace, name, part: '' }))?.annotations ?? {},
        }
      : undefined;
  const pods = (fresh: boolean): readonly EvidenceSource[] =>
    workloads === undefined
      ? []
      : [
          new PodConsumers({
            workloadCache: workloads,
            showing,
            fresh,
            wordOf,
            podLeaves,
            namespaces: () => resources.declarations.namespaces() ?? new Map(),
            labelsOf: async (name) =>
              (await source.held({ plural: 'clustertrustbundles', namespace: undefined, name, part: '' }))
                ?.labels ?? {},
            obstacle: (consumer) => rollouts?.obstacles.why(consumer, now()),
            isUnderWay: (consumer, version) => rollouts?.isUnderWay(consumer, version) ?? false,
            reloader,
          }),
        ];
  const earlierLeaves = new EarlierLeaves();
  return (fresh) => earlierLeaves.of(creationDates.of(combineEvidence(fields, declared, ...pods(fresh))));
};
