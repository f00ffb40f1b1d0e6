import { type Kube, type KubeObject, pods as podKind, type ResourceKind, replicaSets } from '@handover/kube';
import { makerIn } from '../cache/bounds.ts';
import { listed } from '../cache/watched.ts';
import { keyOf, type Place } from '../objects/place.ts';
import { PODS, type Pod, unknownPod } from './pods.ts';
import { readsAll } from './references.ts';
import { ROLLABLE, type Rollable, type Workload, workloadOf } from './workload.ts';
import { type ControllerOwner, Progress, WORKLOAD_KINDS, type Workloads } from './workload-cache.ts';

export interface ListedOptions {
  readonly kube: Kube;
  readonly namespaces: readonly string[];
  /** Only pods that read these objects are asked about. */
  readonly read: readonly Pick<Place, 'plural' | 'namespace' | 'name'>[];
  readonly signal: AbortSignal;
}

/**
 * Live pods and their controllers, listed at each look and not watched: for a process that ends soon, with the right to list pods
 * and to get their controllers.
 */
export class ListedWorkloads implements Workloads {
  readonly #options: ListedOptions;
  readonly #read: ReadonlySet<string>;
  #pods: readonly Pod[] = [];
  #makers: ReadonlyMap<string, ControllerOwner> = new Map();
  #workloads: ReadonlyMap<string, Workload> = new Map();
  readonly ready = Promise.resolve();
  readonly progress: Progress;

  constructor(options: ListedOptions) {
    this.#options = options;
    this.progress = new Progress(() => options.kube.clock.monotonic());
    this.#read = new Set(options.read.map((place) => `${place.plural} ${keyOf(place)}`));
  }

  pods(): readonly Pod[] {
    return this.#pods;
  }

  async freshPods(wanted: readonly string[]): Promise<readonly Pod[]> {
    const { kube, namespaces, signal } = this.#options;
    const lists = await Promise.all(
      namespaces.map((namespace) => listed(kube, podKind, { namespace, projection: PODS }, signal)),
    );
    const pods = lists
      .flatMap(({ kept, unknown }) => [...kept, ...[...unknown].map(unknownPod)])
      .filter((pod) => this.#isReader(pod));
    this.#makers = await this.#makersOf(pods);
    this.#workloads = await this.#workloadsOf(pods);
    this.#pods = pods;
    return pods.filter((pod) => wanted.includes(pod.namespace));
  }

  #isReader({ namespace, references }: Pod): boolean {
    return references.some((reference) => {
      const { plural, name, signer } = reference;
      if (readsAll(reference)) return true;
      const key = `${plural} ${keyOf({ namespace: plural === 'clustertrustbundles' ? undefined : namespace, name })}`;
      return signer === undefined
        ? this.#read.has(key)
        : [...this.#read].some((read) => read.startsWith(key));
    });
  }

  /** What stands behind each ReplicaSet. */
  async #makersOf(pods: readonly Pod[]): Promise<ReadonlyMap<string, ControllerOwner>> {
    const sets = pods.flatMap(({ namespace, owner }) =>
      owner?.kind === 'ReplicaSet' ? [{ namespace, name: owner.name }] : [],
    );
    return this.#each(sets, replicaSets, ({ metadata }) => makerIn(metadata.ownerReferences));
  }

  async #workloadsOf(pods: readonly Pod[]): Promise<ReadonlyMap<string, Workload>> {
    const found = new Map<string, Workload>();
    for (const kind of ROLLABLE) {
      const made = pods.flatMap((pod) => {
        const maker = this.makerOf(pod);
        return maker.kind === kind ? [{ namespace: pod.namespace, name: maker.name }] : [];
      });
      const some = await this.#each(made, WORKLOAD_KINDS[kind], (object) => workloadOf(kind, object));
      for (const [key, workload] of some) {
        this.progress.seen(workload);
        found.set(`${kind} ${key}`, workload);
      }
    }
    return found;
  }

  async #each<T>(
    which: readonly { readonly namespace: string; readonly name: string }[],
    kind: ResourceKind,
    project: (object: KubeObject) => T | undefined,
  ): Promise<ReadonlyMap<string, T>> {
    const { kube, signal } = this.#options;
    const keys = new Map(which.map((one) => [keyOf(one), one]));
    const found = new Map<string, T>();
    await Promise.all(
      [...keys].map(async ([key, one]) => {
        const object = await kube.get(kind, one, { signal });
        const made = object === undefined ? undefined : project(object);
        if (made !== undefined) found.set(key, made);
      }),
    );
    return found;
  }

  workload(kind: Rollable, namespace: string, name: string): Workload | undefined {
    return this.#workloads.get(`${kind} ${keyOf({ namespace, name })}`);
  }

  /** A process that runs once honours only our own annotations. */
  reloader(): undefined {
    return undefined;
  }

  workloadsIn(namespace: string): readonly Workload[] {
    return this.workloads().filter((workload) => workload.namespace === namespace);
  }

  workloads(): readonly Workload[] {
    return [...this.#workloads.values()];
  }

  /** Deployment, StatefulSet … behind a pod, or the pod itself. */
  makerOf({ namespace, name, owner }: Pod): ControllerOwner {
    if (owner === undefined) return { kind: 'Pod', name };
    if (owner.kind !== 'ReplicaSet') return owner;
    return this.#makers.get(keyOf({ namespace, name: owner.name })) ?? owner;
  }
}
