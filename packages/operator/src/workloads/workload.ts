import type { KubeObject } from '@handover/kube';
import { type Instant, instant, isMap, type Json } from '@handover/material';
import { cut, knownAnnotations, labelsOf, MOST_SAID } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';
import { referencesOf } from './references.ts';
import { isReloaderImage } from './reloader.ts';

/** Kinds that can be rolled by a change of their pod template. */
export const ROLLABLE = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;
export type Rollable = (typeof ROLLABLE)[number];

/** Of a consumer that is a workload: `Deployment namespace/name`. */
export const namespaceOfConsumer = (consumer: string): string =>
  consumer.slice(consumer.indexOf(' ') + 1).split('/', 1)[0] ?? '';

/** All that is kept of a workload. */
export interface Workload {
  readonly kind: Rollable;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly createdAt: Instant;
  /** Labels of its pod template. */
  readonly labels: Readonly<Record<string, string>>;
  /** ConfigMaps that its pod template reads. */
  readonly configMaps: readonly string[];
  /** Our annotations of its pod template. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations of its own that say how it is restarted: ours, and Reloader's. */
  readonly words: Readonly<Record<string, string>>;
  /** Whether a rollout is under way. */
  readonly rolling: boolean;
  /** How far it has come, in a text: the same text, no progress. */
  readonly progress: string;
  /** Why a stamp would roll nothing. */
  readonly obstacle: string | undefined;
  /** Why its rollout does not come to an end, in its controller's words. */
  readonly failing: string | undefined;
  /** What to know before it is rolled. */
  readonly warning: string | undefined;
  /** Whether it is Stakater's Reloader, and at work. */
  readonly reloader: boolean;
}

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (isMap(inner) ? inner[name] : undefined), value);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const maps = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isMap) : []);
const replicasOf = (spec: unknown): number => {
  const replicas = at(spec, 'replicas');
  return typeof replicas === 'number' ? replicas : 1;
};

const obstacleOf = (kind: Rollable, spec: unknown): string | undefined => {
  if (at(spec, 'paused') === true) return 'its rollout is paused; resume it, or restart it by hand';
  if (kind === 'Deployment') return undefined;
  if (at(spec, 'updateStrategy', 'type') === 'OnDelete')
    return 'its updateStrategy is OnDelete; delete its pods by hand';
  const partition = count(at(spec, 'updateStrategy', 'rollingUpdate', 'partition'));
  if (kind === 'StatefulSet' && partition > 0)
    return `its updateStrategy leaves the first ${partition} pods as they are (partition); set it to 0, or delete them by hand`;
  return undefined;
};

const PERCENT = /^(\d{1,3})%$/;

/** How many pods `maxUnavailable` lets a rollout stop at once; a percentage is rounded down, and default are 25 % (Deployment) or one pod. */
const mostAway = (kind: 'Deployment' | 'StatefulSet', spec: unknown): number => {
  const said = at(
    spec,
    kind === 'Deployment' ? 'strategy' : 'updateStrategy',
    'rollingUpdate',
    'maxUnavailable',
  );
  const [, percent] =
    PERCENT.exec(typeof said === 'string' ? said : kind === 'Deployment' ? '25%' : '') ?? [];
  if (typeof said === 'number') return said;
  return percent === undefined ? 1 : Math.floor((replicasOf(spec) * Number(percent)) / 100);
};

/** A PodDisruptionBudget changes none of this: a rollout does not ask it. */
const warningOf = (kind: Rollable, spec: unknown): string | undefined => {
  if (kind === 'Deployment' && at(spec, 'strategy', 'type') === 'Recreate')
    return 'its strategy is Recreate: it is down while it restarts';
  const replicas = replicasOf(spec);
  if (kind === 'DaemonSet' || replicas === 0) return undefined;
  const away = mostAway(kind, spec) >= replicas;
  if (replicas > 1)
    return away
      ? `maxUnavailable lets all ${replicas} replicas stop at once: it is down while it restarts`
      : undefined;
  const surge = at(spec, 'strategy', 'rollingUpdate', 'maxSurge');
  return kind === 'StatefulSet' || away || surge === 0 || surge === '0%'
    ? 'it has one replica: it is down while it restarts'
    : 'it has one replica: nothing else serves while its pod is replaced';
};

/** Deployments say it themselves; for the others see `Progress`. */
const failingOf = (status: unknown): string | undefined => {
  for (const { type, status: is, reason, message } of maps(at(status, 'conditions'))) {
    const stuck = type === 'Progressing' && is === 'False' && reason === 'ProgressDeadlineExceeded';
    if (stuck || (type === 'ReplicaFailure' && is === 'True'))
      return cut(
        `its rollout fails: ${typeof message === 'string' && message !== '' ? message : String(reason)}`,
        MOST_SAID,
      );
  }
  return undefined;
};

/** Its controller has seen the template, and every pod is of it and available. */
const isSettled = (kind: Rollable, { metadata, spec, status }: KubeObject): boolean => {
  if (count(at(status, 'observedGeneration')) < (metadata.generation ?? 0)) return false;
  if (kind === 'DaemonSet') {
    const wanted = count(at(status, 'desiredNumberScheduled'));
    return (
      count(at(status, 'updatedNumberScheduled')) >= wanted && count(at(status, 'numberAvailable')) >= wanted
    );
  }
  const wanted = replicasOf(spec);
  const settled =
    count(at(status, 'updatedReplicas')) >= wanted && count(at(status, 'availableReplicas')) >= wanted;
  return settled && count(at(status, 'replicas')) <= wanted;
};

/** A Deployment has seven. */
const MOST_COUNTS = 32;
const progressOf = ({ metadata, status }: KubeObject): string =>
  JSON.stringify([
    metadata.generation,
    ...(isMap(status)
      ? Object.values(status)
          .filter((value) => typeof value === 'number')
          .slice(0, MOST_COUNTS)
      : []),
  ]);

const isReloader = ({ spec, status }: KubeObject): boolean =>
  count(at(status, 'readyReplicas')) > 0 &&
  maps(at(spec, 'template', 'spec', 'containers')).some(
    ({ image }) => typeof image === 'string' && isReloaderImage(image),
  );

const configMapsIn = (spec: unknown): readonly string[] => [
  ...new Set(
    referencesOf({ metadata: {}, spec } as KubeObject).flatMap(({ plural, name }) =>
      plural === 'configmaps' ? [name] : [],
    ),
  ),
];

export const workloadOf = (kind: Rollable, object: KubeObject): Workload => {
  const { metadata, spec, status } = object;
  const obstacle = obstacleOf(kind, spec);
  return {
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    version: metadata.resourceVersion ?? '',
    createdAt: instant(Date.parse(metadata.creationTimestamp ?? '') || 0),
    configMaps: configMapsIn(at(spec, 'template', 'spec')),
    labels: labelsOf(at(spec, 'template', 'metadata', 'labels')),
    annotations: knownAnnotations('pod', at(spec, 'template', 'metadata', 'annotations')),
    words: knownAnnotations('workload', metadata.annotations),
    // What does not roll by itself is never at its end, and must not keep others waiting.
    rolling: obstacle === undefined && !isSettled(kind, object),
    progress: progressOf(object),
    obstacle,
    failing: failingOf(status),
    warning: warningOf(kind, spec),
    reloader: isReloader(object),
  };
};

const projectionOf = (kind: Rollable): Projection<KubeObject, Workload> =>
  new Projection(kind, { keep: (object) => workloadOf(kind, object), most: 64 * 1_024 });

/** One that there is no room for is not restarted; its pods count all the same. */
export const WORKLOADS = {
  Deployment: projectionOf('Deployment'),
  StatefulSet: projectionOf('StatefulSet'),
  DaemonSet: projectionOf('DaemonSet'),
} as const satisfies Readonly<Record<Rollable, Projection<KubeObject, Workload>>>;
