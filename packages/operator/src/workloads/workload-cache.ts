import {
  type AnyInformer,
  daemonSets,
  deployments,
  type Kube,
  type KubeObject,
  pods as podKind,
  type ResourceKind,
  replicaSets,
  statefulSets,
} from '@handover/kube';
import { minute } from '@handover/material';
import { makerIn } from '../cache/bounds.ts';
import type { Budget } from '../cache/budget.ts';
import { Projection } from '../cache/projection.ts';
import { listed, Watched } from '../cache/watched.ts';
import { PODS, type Pod, unknownPod } from './pods.ts';
import { ROLLABLE, type Rollable, WORKLOADS, type Workload } from './workload.ts';

/** As long as a Deployment is given by default (progressDeadlineSeconds); StatefulSets and DaemonSets have no such field. */
const STALLED_MS = 10 * minute;

/** Since when rollouts have stood still, where the controller does not say so. */
export class Progress {
  readonly #now: () => number;
  readonly #known = new Map<string, { readonly progress: string; readonly since: number }>();

  /** `now`: milliseconds that only go forward. */
  constructor(now: () => number) {
    this.#now = now;
  }

  seen({ kind, namespace, name, rolling, progress }: Workload): void {
    const key = `${kind} ${namespace}/${name}`;
    if (!rolling) this.#known.delete(key);
    else if (this.#known.get(key)?.progress !== progress)
      this.#known.set(key, { progress, since: this.#now() });
  }

  gone({ kind, namespace, name }: Workload): void {
    this.#known.delete(`${kind} ${namespace}/${name}`);
  }

  /** Why its rollout does not come to an end; undefined: it does, or there is none. */
  failing({ kind, namespace, name, rolling, failing }: Workload): string | undefined {
    const since = this.#known.get(`${kind} ${namespace}/${name}`)?.since;
    if (!rolling) return undefined;
    if (failing !== undefined) return failing;
    return since !== undefined && this.#now() >= since + STALLED_MS
      ? 'its rollout has made no progress for ten minutes; see why its pods do not become ready'
      : undefined;
  }
}

export const WORKLOAD_KINDS: Readonly<Record<Rollable, ResourceKind>> = {
  Deployment: deployments,
  StatefulSet: statefulSets,
  DaemonSet: daemonSets,
};

/** What makes pods, as far as it can be told. */
export interface ControllerOwner {
  readonly kind: string;
  readonly name: string;
}

/** Without it a pod counts as made by its ReplicaSet, which is not restarted. */
export const REPLICA_SETS = new Projection<KubeObject, ControllerOwner>('ReplicaSet', {
  keep: ({ metadata }) => makerIn(metadata.ownerReferences),
});

/** Pods and what makes them, however they came to be known. */
export type Workloads = Pick<
  WorkloadCache,
  | 'ready'
  | 'pods'
  | 'freshPods'
  | 'workload'
  | 'workloads'
  | 'workloadsIn'
  | 'makerOf'
  | 'progress'
  | 'reloader'
> &
  Partial<Pick<WorkloadCache, 'start'>>;

interface WorkloadCacheOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  /** Namespaces to watch; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  readonly onPod: (before: Pod | undefined, after: Pod | undefined) => void;
  readonly onWorkload: (before: Workload | undefined, after: Workload | undefined) => void;
}

const LIVE = 'status.phase!=Succeeded,status.phase!=Failed';

/** Live pods and what makes them, followed by watches. */
export class WorkloadCache {
  readonly #options: WorkloadCacheOptions;
  readonly #pods: readonly Watched<KubeObject, Pod>[];
  readonly #workloads: ReadonlyMap<Rollable, readonly Watched<KubeObject, Workload>[]>;
  readonly #replicaSets: readonly Watched<KubeObject, ControllerOwner>[];
  readonly progress: Progress;
  #signal: AbortSignal | undefined;

  constructor(options: WorkloadCacheOptions) {
    this.#options = options;
    this.progress = new Progress(() => options.kube.clock.monotonic());
    const { onPod, onWorkload } = options;
    this.#pods = this.#watch(podKind, PODS, { fieldSelector: LIVE }, (before, after) => onPod(before, after));
    this.#workloads = new Map(
      ROLLABLE.map((kind) => [
        kind,
        this.#watch(WORKLOAD_KINDS[kind], WORKLOADS[kind], {}, (before, after) => {
          if (after !== undefined) this.progress.seen(after);
          else if (before !== undefined) this.progress.gone(before);
          onWorkload(before, after);
        }),
      ]),
    );
    this.#replicaSets = this.#watch(replicaSets, REPLICA_SETS, { metadataOnly: true }, () => {});
    for (const informer of this.#pods)
      informer.on('unknown', (namespace) => onPod(undefined, unknownPod(namespace)));
  }

  #watch<T>(
    kind: ResourceKind,
    projection: Projection<KubeObject, T>,
    more: { readonly fieldSelector?: string; readonly metadataOnly?: boolean },
    changed: (before: T | undefined, after: T | undefined) => void,
  ): readonly Watched<KubeObject, T>[] {
    const { kube, budget, namespaces } = this.#options;
    return (namespaces ?? [undefined]).map((namespace) => {
      const informer = new Watched<KubeObject, T>(kube, kind, {
        projection,
        budget,
        ...more,
        ...(namespace === undefined ? {} : { namespace }),
      });
      informer.on('changed', ({ before, after }) => changed(before, after));
      return informer;
    });
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const informer of this.#informers()) informer.start(signal);
  }

  #informers(): readonly AnyInformer[] {
    return [...this.#pods, ...[...this.#workloads.values()].flat(), ...this.#replicaSets];
  }

  get ready(): Promise<unknown> {
    return Promise.all(this.#informers().map(({ ready }) => ready));
  }

  pods(): readonly Pod[] {
    return this.#pods.flatMap((informer) => [...informer.list(), ...informer.unknown.map(unknownPod)]);
  }

  /** Past the cache in one namespace: nothing covers a mistake about who presents. */
  async freshPods(namespaces: readonly string[]): Promise<readonly Pod[]> {
    const pods: Pod[] = [];
    // One after the other: a state may name hundreds of namespaces.
    for (const namespace of namespaces) {
      const { kube, budget } = this.#options;
      const which = { namespace, projection: PODS, budget: budget?.another() };
      const { kept, unknown } = await listed(kube, podKind, which, this.#signal);
      for (const pod of kept) pods.push(pod);
      pods.push(...[...unknown].map(unknownPod));
    }
    return pods;
  }

  workload(kind: Rollable, namespace: string, name: string): Workload | undefined {
    for (const informer of this.#workloads.get(kind) ?? []) {
      const found = informer.get(`${namespace}/${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Stakater's Reloader in one of these namespaces. What runs elsewhere may only look like it, or restart nothing here. */
  reloader(namespaces: readonly string[]): string | undefined {
    const found = (this.#workloads.get('Deployment') ?? [])
      .flatMap((informer) => informer.list())
      .find(({ reloader, namespace }) => reloader && namespaces.includes(namespace));
    return found === undefined ? undefined : `${found.namespace}/${found.name}`;
  }

  /** Everything that can be rolled in one namespace. */
  workloadsIn(namespace: string): readonly Workload[] {
    return this.workloads().filter((workload) => workload.namespace === namespace);
  }

  /** Everything that can be rolled. */
  workloads(): readonly Workload[] {
    return [...this.#workloads.values()].flat().flatMap((informer) => informer.list());
  }

  /** Deployment, StatefulSet … behind a pod, or the pod itself. */
  makerOf({ namespace, name, owner }: Pod): ControllerOwner {
    if (owner === undefined) return { kind: 'Pod', name };
    if (owner.kind !== 'ReplicaSet') return owner;
    for (const informer of this.#replicaSets) {
      const found = informer.get(`${namespace}/${owner.name}`);
      if (found !== undefined) return found;
    }
    return owner;
  }
}
