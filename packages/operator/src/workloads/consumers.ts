import { type InstanceSeen, RELOAD, type Reload, signerOf, TAKE_OVER, TRUST_HASH } from '@handover/core';
import {
  type AuthorityId,
  type AuthorityRecord,
  type Catalogue,
  type ConsumerFound,
  type EvidenceSource,
  type Issued,
  type IssuedLeaves,
  type Labels,
  type ObjectId,
  type ProcessShown,
  type Responsibilities,
  servesNamespace,
} from '@handover/engine';
import { type Instant, instant } from '@handover/material';
import { placeOf } from '../objects/place.ts';
import type { PodEvidence } from './pod-evidence.ts';
import { holderOf } from './pod-holders.ts';
import { heldOf, type PodLeafSource } from './pod-signers.ts';
import type { Pod } from './pods.ts';
import { type ReloaderObject, reloaderRestarts } from './reloader.ts';
import { stampIn } from './rollouts.ts';
import { managedBy, type SignedBundle, type Use, useOf } from './use.ts';
import { ROLLABLE, type Rollable, type Workload } from './workload.ts';
import type { ControllerOwner, Workloads } from './workload-cache.ts';

/** How long a look waits for the pods of the authority's own namespace, and for pods of other namespaces, which delay only themselves. */
const OWN_MS = 15_000;
const FOREIGN_MS = 250;

/** What its owner says, on the pods or else on what makes them, or else the owner of what it reads; never against what can be seen. */
const reloadOf = (
  pods: readonly (readonly [Pod, Use])[],
  workload: Workload | undefined,
  byReloader: boolean,
  wordOf: (id: ObjectId) => string | undefined,
): Reload => {
  if (pods.some(([, { frozen }]) => frozen)) return 'restart';
  const said = pods.flatMap(([{ annotations }, { presents, verifies }]) => {
    const own = annotations[RELOAD] ?? workload?.words[RELOAD];
    if (own !== undefined || byReloader) return [own];
    return [...presents, ...verifies].map(wordOf);
  });
  if (said.includes('restart')) return 'restart';
  if (said.length > 0 && said.every((word) => word === 'hot')) return 'hot';
  return byReloader ? 'restart' : 'unknown';
};

/** Reloader's annotations, where --compat asks for them. */
export interface ReloaderCompat {
  /** Annotations of a Secret or ConfigMap. */
  readonly annotationsOf: (
    plural: ReloaderObject['plural'],
    namespace: string,
    name: string,
  ) => Promise<Readonly<Record<string, string>>>;
  /** Namespaces in which only administrators can start something that would be taken for Reloader. */
  readonly trusted: readonly string[];
  /** Whether workloads become ours though Reloader itself is there. */
  readonly takeOver: boolean;
}

export interface PodConsumerOptions {
  readonly workloadCache: Workloads;
  readonly showing: PodEvidence;
  /** Pods past the cache; undefined: those that the cache has. */
  readonly fresh: boolean;
  /** What the owner of an object says about its readers, for pods without annotations. */
  readonly wordOf: (id: ObjectId) => string | undefined;
  /** Labels of a ClusterTrustBundle. */
  readonly labelsOf: (name: string) => Promise<Labels>;
  /** Why a workload could not be rolled. */
  readonly obstacle: (consumer: string) => string | undefined;
  /** Whether a workload was stamped at this version. */
  readonly isUnderWay: (consumer: string, version: string) => boolean;
  readonly reloader?: ReloaderCompat | undefined;
  /** Certificates that pods got for themselves; undefined: none is known. */
  readonly podLeaves?: PodLeafSource | undefined;
  /** Labels of the namespaces. */
  readonly namespaces: () => Catalogue['namespaces'];
}

/**
 * Since when a workload has been there. Its pods may be older than itself (a StatefulSet that was replaced with `--cascade=orphan`), and of kinds that
 * cannot be read only the pods show it.
 */
const thereSince = (
  workload: Workload | undefined,
  pods: readonly (readonly [Pod, Use])[],
): { readonly createdAt?: Instant } => {
  const dates = [...(workload === undefined ? [] : [workload]), ...pods.map(([pod]) => pod)];
  return dates.length === 0 ? {} : { createdAt: instant(Math.min(...dates.map((one) => one.createdAt))) };
};

const NOTHING_READ = { presents: new Set<ObjectId>(), verifies: new Set<ObjectId>() };

/** Consumers found, not declared: workloads whose live pods read an object of the authority in any way, or that it is rolling. */
/** Other namespaces whose objects were given leaves of a CA that stays trusted for them. */
const retainedFor = (record: AuthorityRecord | undefined): readonly string[] =>
  (record?.state.generations ?? []).flatMap(({ role, elsewhere }) =>
    role === 'retained'
      ? (elsewhere?.objects ?? []).flatMap((object) => placeOf(object).namespace ?? [])
      : [],
  );

export class PodConsumers implements EvidenceSource {
  readonly #options: PodConsumerOptions;

  constructor(options: PodConsumerOptions) {
    this.#options = options;
  }

  async consumers(
    responsibilities: Responsibilities,
    record: AuthorityRecord | undefined,
    now: Instant,
    { orphans, issuers }: IssuedLeaves,
  ): Promise<readonly ConsumerFound[]> {
    const { workloadCache } = this.#options;
    const managed = managedBy(responsibilities, orphans);
    const signed = await this.#signed(responsibilities);
    const groups = new Map<
      string,
      { readonly maker: ControllerOwner; readonly namespace: string; readonly pods: (readonly [Pod, Use])[] }
    >();
    const all = await this.#pods(responsibilities, record);
    for (const pod of all) {
      if (pod.ended) continue;
      const use = useOf(pod, managed, signed);
      if (use === undefined) continue;
      const maker = workloadCache.makerOf(pod);
      const id = `${maker.kind} ${pod.namespace}/${maker.name}`;
      const group = groups.get(id) ?? { maker, namespace: pod.namespace, pods: [] };
      group.pods.push([pod, use]);
      groups.set(id, group);
    }
    // Between its old pod and its new one a workload has none, and yet it counts towards `maxConcurrentRollouts`. In another namespace
    // a stamp is a claim, which needs a pod that reads an object of ours.
    const own = responsibilities.authority.metadata.namespace;
    for (const { kind, namespace, name, annotations, rolling, version } of workloadCache.workloads()) {
      const id = `${kind} ${namespace}/${name}`;
      const isOurs =
        this.#options.isUnderWay(id, version) ||
        (rolling && namespace === own && stampIn(annotations[TRUST_HASH], responsibilities.id) !== undefined);
      if (isOurs && !groups.has(id)) groups.set(id, { maker: { kind, name }, namespace, pods: [] });
    }
    return Promise.all([
      ...[...groups].map(([id, { maker, namespace, pods }]) =>
        this.#consumer(id, maker, namespace, pods, responsibilities, record && { record, now, issuers }),
      ),
      ...this.#holders(all, responsibilities, record && { record, now, issuers }),
    ]);
  }

  /** Pods with a certificate of their own: each counts for itself, beside what its workload reads. */
  #holders(
    pods: readonly Pod[],
    responsibilities: Responsibilities,
    issued: Issued | undefined,
  ): readonly Promise<ConsumerFound>[] {
    if (issued === undefined) return [];
    const { record } = issued;
    const { podLeaves, showing, namespaces } = this.#options;
    const { id: authority } = responsibilities;
    const labels = namespaces();
    const signer = signerOf(authority);
    return pods.flatMap((pod) => {
      const held = pod.ended ? undefined : heldOf(pod.signers, signer);
      if (held === undefined || !servesNamespace(responsibilities.authority, pod.namespace, labels))
        return [];
      const blocks = pod.namespace === responsibilities.authority.metadata.namespace;
      const refused = podLeaves?.refused(pod.uid, signer) ?? false;
      // It never got a certificate. One that has started may have had one that is not known any more.
      if (refused && !pod.started && !blocks) return [];
      const patience = blocks ? OWN_MS : FOREIGN_MS;
      return [
        (async () => {
          const leaf = podLeaves?.of(pod.uid, signer, record);
          const issuers =
            leaf === undefined
              ? issued.issuers
              : {
                  get: (shown: string) =>
                    shown === leaf.certificate.fingerprint ? leaf.issuer : issued.issuers.get(shown),
                };
          const shown = await showing.of(pod, { ...issued, issuers, authority }, patience);
          const instance = instanceOf(pod, authority, shown);
          const reload = reloadOf(
            [[pod, { ...NOTHING_READ, frozen: held.frozen }]],
            undefined,
            false,
            () => undefined,
          );
          const { sources } = held;
          return holderOf({ pod, blocks, reload, instance, leaf, state: record.state, sources, refused });
        })(),
      ];
    });
  }

  /** The labels of its ClusterTrustBundles, as they are: others may have added some. */
  async #signed({ bundles }: Responsibilities): Promise<readonly SignedBundle[]> {
    const places = [...bundles.keys()].map(placeOf).filter(({ plural }) => plural === 'clustertrustbundles');
    return Promise.all(
      places.map(async ({ name }) => ({ name, labels: await this.#options.labelsOf(name) })),
    );
  }

  async #pods({ authority }: Responsibilities, record: AuthorityRecord | undefined): Promise<readonly Pod[]> {
    const { workloadCache, fresh } = this.#options;
    if (!fresh) return workloadCache.pods();
    // A pod that a slow watch hides may still show an old leaf. In other namespaces that matters where a retained CA waits for the pods.
    const namespaces = new Set([authority.metadata.namespace, ...retainedFor(record)]);
    const seen = await workloadCache.freshPods([...namespaces]);
    return [...seen, ...workloadCache.pods().filter(({ namespace }) => !namespaces.has(namespace))];
  }

  async #consumer(
    id: string,
    maker: ControllerOwner,
    namespace: string,
    pods: readonly (readonly [Pod, Use])[],
    responsibilities: Responsibilities,
    issued: Issued | undefined,
  ): Promise<ConsumerFound> {
    const { workloadCache, showing, obstacle, isUnderWay, wordOf } = this.#options;
    const kind = ROLLABLE.find((candidate): candidate is Rollable => candidate === maker.kind);
    const workload = kind === undefined ? undefined : workloadCache.workload(kind, namespace, maker.name);
    const byReloader = await this.#restartedByReloader(pods, workload);
    const reload = reloadOf(pods, workload, byReloader, wordOf);
    const blocks = namespace === responsibilities.authority.metadata.namespace;
    const patience = blocks ? OWN_MS : FOREIGN_MS;
    const seen = await Promise.all(
      pods.map(async ([pod]) => ({
        pod,
        shown:
          issued === undefined
            ? undefined
            : await showing.of(pod, { ...issued, authority: responsibilities.id }, patience),
      })),
    );
    const why =
      workload?.obstacle ?? obstacle(id) ?? (byReloader ? this.#otherOwner(pods, workload) : undefined);
    const failing = workload === undefined ? undefined : workloadCache.progress.failing(workload);
    return {
      id,
      reload,
      ownersWord: reload === 'hot',
      blocks,
      namespace,
      presents: [...new Set(pods.flatMap(([, { presents }]) => [...presents]))],
      verifies: [...new Set(pods.flatMap(([, { verifies }]) => [...verifies]))],
      ...thereSince(workload, pods),
      ...(pods.length > 0 && pods.every(([{ completes }]) => completes) ? { completes: true } : {}),
      instances: seen.map(({ pod, shown }) => instanceOf(pod, responsibilities.id, shown)),
      workload:
        workload === undefined
          ? undefined
          : {
              stamp: stampIn(workload.annotations[TRUST_HASH], responsibilities.id),
              rolling: workload.rolling || isUnderWay(id, workload.version),
              ...(why === undefined ? {} : { obstacle: why }),
              ...(failing === undefined ? {} : { failing }),
              ...(workload.warning === undefined ? {} : { warning: workload.warning }),
            },
      workloadVersion: workload?.version,
    };
  }

  /** Whether Reloader's annotations ask for a restart when something of ours that the pods read changes. */
  async #restartedByReloader(
    pods: readonly (readonly [Pod, Use])[],
    workload: Workload | undefined,
  ): Promise<boolean> {
    const { reloader } = this.#options;
    if (reloader === undefined) return false;
    for (const [{ namespace, annotations }, { presents, verifies }] of pods) {
      for (const id of new Set([...presents, ...verifies])) {
        const { plural, name } = placeOf(id);
        if (plural !== 'secrets' && plural !== 'configmaps') continue;
        const object = { plural, name, annotations: await reloader.annotationsOf(plural, namespace, name) };
        if (reloaderRestarts(workload?.words ?? {}, annotations, object)) return true;
      }
    }
    return false;
  }

  /** One owner: what Reloader restarts we leave to it, unless our own annotation says otherwise. */
  #otherOwner(pods: readonly (readonly [Pod, Use])[], workload: Workload | undefined): string | undefined {
    const { workloadCache, reloader } = this.#options;
    const namespaces = pods.map(([{ namespace }]) => namespace);
    const running = workloadCache.reloader([...namespaces, ...(reloader?.trusted ?? [])]);
    const said =
      workload?.words[RELOAD] ?? pods.find(([{ annotations }]) => annotations[RELOAD] !== undefined);
    const takenOver = reloader?.takeOver === true || workload?.words[TAKE_OVER] === 'true';
    if (running === undefined || takenOver || said !== undefined) return undefined;
    return `Stakater's Reloader (Deployment ${running}) restarts it; stop that, or let Handover take over with ${TAKE_OVER}: "true" on it`;
  }
}

const instanceOf = (
  { uid, name, createdAt, ready, annotations }: Pod,
  authority: AuthorityId,
  shown: ProcessShown | undefined,
): InstanceSeen => ({
  uid,
  name,
  createdAt,
  ready,
  stamp: stampIn(annotations[TRUST_HASH], authority),
  proofs: shown?.proofs ?? [],
  ...(shown === undefined ? {} : { unread: shown.unread }),
  ...(shown?.served === undefined ? {} : { served: shown.served }),
});
