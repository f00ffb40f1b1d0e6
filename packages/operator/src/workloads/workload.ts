import type { KubeObject } from '@handover/kube';
import { type Instant, instant } from '@handover/material';
import { isMap } from '../json.ts';

/** Kinds that can be rolled by a change of their pod template. */
export const ROLLABLE = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;
export type Rollable = (typeof ROLLABLE)[number];

/** All that is kept of a workload. */
export interface Workload {
  readonly kind: Rollable;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly createdAt: Instant;
  /** Labels of its pod template. */
  readonly labels: Readonly<Record<string, string>>;
  /** Our annotations of its pod template. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Whether a rollout is under way. */
  readonly rolling: boolean;
  /** Why a stamp would roll nothing. */
  readonly obstacle: string | undefined;
  /** What somebody should know before it is rolled. */
  readonly warning: string | undefined;
}

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (isMap(inner) ? inner[name] : undefined), value);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

const obstacleOf = (kind: Rollable, spec: unknown): string | undefined => {
  if (at(spec, 'paused') === true) return 'its rollout is paused; resume it, or restart it by hand';
  if (kind !== 'Deployment' && at(spec, 'updateStrategy', 'type') === 'OnDelete')
    return 'its updateStrategy is OnDelete; delete its pods by hand';
  return undefined;
};

const warningOf = (kind: Rollable, spec: unknown): string | undefined => {
  if (kind === 'Deployment' && at(spec, 'strategy', 'type') === 'Recreate')
    return 'its strategy is Recreate: it is away while it restarts';
  if (kind !== 'DaemonSet' && at(spec, 'replicas') === 1 && kind === 'StatefulSet')
    return 'it has one replica: it is away while it restarts';
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
  const replicas = at(spec, 'replicas');
  const wanted = typeof replicas === 'number' ? replicas : 1;
  const settled =
    count(at(status, 'updatedReplicas')) >= wanted && count(at(status, 'availableReplicas')) >= wanted;
  return settled && count(at(status, 'replicas')) <= wanted;
};

const textsOf = (value: unknown, wanted: (name: string) => boolean): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isMap(value) ? value : {}).filter(
      (entry): entry is [string, string] => wanted(entry[0]) && typeof entry[1] === 'string',
    ),
  );

export const workloadOf = (kind: Rollable, object: KubeObject): Workload => {
  const { metadata, spec } = object;
  return {
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    version: metadata.resourceVersion ?? '',
    createdAt: instant(Date.parse(metadata.creationTimestamp ?? '') || 0),
    labels: textsOf(at(spec, 'template', 'metadata', 'labels'), () => true),
    annotations: textsOf(at(spec, 'template', 'metadata', 'annotations'), (name) =>
      name.startsWith('handover.dev/'),
    ),
    rolling: !isSettled(kind, object),
    obstacle: obstacleOf(kind, spec),
    warning: warningOf(kind, spec),
  };
};
