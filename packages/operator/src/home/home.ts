import { randomBytes } from 'node:crypto';
import type { KeySource } from '@handover/core';
import {
  type AuthorityId,
  type CachedView,
  Canaries,
  type Clock,
  DeclaredConsumers,
  type EvidenceSource,
  FirstSight,
  type Home,
  type HomeFacts,
  type IssuedEntry,
  idOf,
  keyMaker,
  type Ledger,
  type Meters,
  type ObjectId,
  type ProfilePlatform,
  processHere,
  type ResourceReader,
  type StoredObject,
  Turns,
  WatchedClock,
} from '@handover/engine';
import { Informer, type Kube, type Secret, secrets } from '@handover/kube';
import { after, duration, type Instant, isMap, second } from '@handover/material';
import { OperatorError } from '../error.ts';
import {
  cachedAuthorities,
  KubeAuthorities,
  KubeRequests,
  requestsIn,
  STATE_LABEL,
  stateName,
} from '../objects/authorities.ts';
import { FreshLook, OneByOne, type Source } from '../objects/fresh.ts';
import type { Held } from '../objects/held.ts';
import type { Kinds } from '../objects/kinds.ts';
import { Mirror } from '../objects/mirror.ts';
import { ObjectStore, type ObjectStoreOptions } from '../objects/object-store.ts';
import { readOpenShiftProfile } from '../objects/openshift.ts';
import { OwnWritesCache } from '../objects/own-writes-cache.ts';
import { idOfPlace, isField, type Place, type Plural, placeOf, placesOf } from '../objects/place.ts';
import { knownIn } from '../resources/askers.ts';
import type { Declarations } from '../resources/declarations.ts';
import type { Declared } from '../resources/declared.ts';
import {
  type ResolvedResources,
  type ResolveOptions,
  resolveResources,
} from '../resources/resolved-resources.ts';
import { Addresses } from '../workloads/addresses.ts';
import { fieldConsumers, together, wordOfOwners } from '../workloads/api-fields.ts';
import { PodConsumers, type ReloaderCompat } from '../workloads/consumers.ts';
import { podsOnly } from '../workloads/endpoints.ts';
import { Nudges } from '../workloads/nudge.ts';
import { PodEvidence } from '../workloads/pod-evidence.ts';
import { KubeRollouts } from '../workloads/rollouts.ts';
import { selectedBy } from '../workloads/selected.ts';
import type { Workloads } from '../workloads/workload-cache.ts';

export interface KubeHomeOptions {
  readonly kube: Kube;
  /** For API fields, whose repair must not wait behind other work. Default: `kube`. */
  readonly swift?: Kube | undefined;
  readonly kinds: Kinds;
  /** The operator's own namespace, where authorities lie. */
  readonly namespace: string;
  readonly trustNamespace: string;
  readonly declarations: Declarations;
  /** Kinds that are watched whole; none: this account may see only what it can name. */
  readonly wide: readonly Plural[];
  /** Whether nothing is watched at all: every look asks, for whoever is gone in a moment. Default: false. */
  readonly once?: boolean | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly clusterTrustBundles: boolean;
  readonly injectionOf: ResolveOptions['injectionOf'];
  readonly takeOver: boolean;
  readonly more?: ResolveOptions['more'];
  /** Annotations that an object carries beside our own. */
  readonly annotationsOf?: ObjectStoreOptions['annotationsOf'];
  /** Whether consumers are found by looking at pods. */
  readonly consumersFound: boolean;
  /** Live pods, and what makes them; undefined: this account may not see them. */
  readonly workloadCache?: Workloads | undefined;
  /** What the owner of an object says of readers whose pods do not say how they pick changes up. */
  readonly wordOf?: ((id: ObjectId) => string | undefined) | undefined;
  /** Whether pods are told when something they read was written. */
  readonly nudge?: boolean;
  /** Whether the annotations of Stakater's Reloader count as a word of the owner. */
  readonly reloader?: boolean;
  /** What the platform asks for in matters of TLS. Default: it is asked each time. */
  readonly clusterProfile?: ProfilePlatform['cluster'];
  /** All evidence there is, instead of what this home would look for. */
  readonly evidence?: EvidenceSource | undefined;
  /** Which addresses may be asked. Default: those of pods, and none outside the cluster. */
  readonly addresses?: Addresses | undefined;
  readonly keys?: KeySource | undefined;
  /** This process, by the name that it has in the Lease. */
  readonly identity?: string | undefined;
  /** A certificate was made; nothing holds it yet. */
  readonly onIssued?: ((entry: IssuedEntry) => void) | undefined;
  readonly meters?: Meters | undefined;
  /** Ends watches and reads. */
  readonly signal: AbortSignal;
  /** Ends writes, which may outlast the reads by a moment: a write that is cut off may land all the same. */
  readonly writeSignal?: AbortSignal | undefined;
  readonly onChange: (plural: Plural, key: string, before: Held | undefined, after: Held | undefined) => void;
  readonly onState: (authority: AuthorityId | undefined) => void;
  readonly onRepair?: ((id: ObjectId, manager: string) => void) | undefined;
  /** A watch that goes on by itself could not begin, or broke. */
  readonly onTrouble?: ((what: string, error: Error) => void) | undefined;
  readonly onNudgeFailed?: ((error: unknown) => void) | undefined;
}

/** An API server tells its time in whole seconds; with several of them, answers may come from any. */
const CLOCK_TOLERANCE_MS = 5_000;
/** Pods and servers asked at once, in all and of one namespace: docs/decisions/0403. */
const ASKED_AT_ONCE = { inAll: 256, each: 32 } as const;
/** The kubelet's cache can hand a file that is this old to a starting pod. */
const CACHE_LAG = duration(10 * second);

/** A Kubernetes API server as a home. */
export class KubeHome implements Home {
  readonly #options: KubeHomeOptions;
  readonly mirror: Mirror;
  readonly ownWrites: OwnWritesCache;
  readonly store: ObjectStore;
  readonly authorities: KubeAuthorities;
  readonly requests: KubeRequests;
  readonly evidence: EvidenceSource;
  readonly resources: ResourceReader;
  readonly cached: CachedView;
  readonly reloads = undefined;
  readonly rollouts: KubeRollouts | undefined;
  readonly profiles: ProfilePlatform;
  readonly clock: Clock;
  readonly keys: KeySource;
  readonly random = (bytes: number): Uint8Array => randomBytes(bytes);
  readonly facts: HomeFacts;
  readonly ledger: Ledger;
  readonly #states: Informer<Secret> | undefined;
  readonly #firstSight: FirstSight;
  readonly #showing: PodEvidence;
  readonly #declared: DeclaredConsumers;
  readonly #nudges: Nudges | undefined;
  readonly objects: ReturnType<ObjectStore['view']>;
  #resolved: ResolvedResources | undefined;
  #registering: Promise<ResolvedResources> | undefined;

  constructor(options: KubeHomeOptions) {
    this.#options = options;
    const { kube, kinds, signal, namespace } = options;
    this.keys = options.keys ?? keyMaker();
    // The API server's time is known to the second: what it has just dated may lie a little ahead of what we take for now.
    this.#firstSight = new FirstSight({
      now: () => after(this.#now(), 2 * second),
      setBacks: () => this.clock.setBacks?.() ?? [],
    });
    const issued = async (entry: IssuedEntry): Promise<void> => options.onIssued?.(entry);
    this.ledger = {
      issued,
      known: (asked) => knownIn(options.declarations.all(), asked),
      self: options.identity ?? processHere(),
    };
    const { addresses = new Addresses() } = options;
    const turns = new Turns(ASKED_AT_ONCE);
    const making = { keys: this.keys, random: this.random, log: { issued } };
    const tools = { ...making, meters: options.meters, canaries: new Canaries(making), turns };
    this.#showing = new PodEvidence({ ...tools, addresses });
    this.#declared = new DeclaredConsumers(tools, podsOnly({ kube, addresses, signal }));
    const clock = new WatchedClock(
      () => this.#serverTime(),
      () => performance.now(),
      { tolerance: CLOCK_TOLERANCE_MS },
    );
    this.clock = clock;
    this.mirror = new Mirror({
      kube,
      kinds,
      wide: options.wide,
      namespaces: options.namespaces,
      signal,
      onChange: (plural, key, before, now) => {
        this.ownWrites.moved(plural, key);
        options.onChange(plural, key, before, now);
      },
      onTrouble: options.onTrouble,
    });
    const named = new OneByOne({ kube, kinds, signal }, (plural) => this.#known(plural));
    this.ownWrites = new OwnWritesCache(options.once === true ? named : this.mirror, named);
    this.#nudges =
      options.workloadCache === undefined || options.nudge === false
        ? undefined
        : new Nudges(
            kube,
            options.workloadCache,
            options.writeSignal ?? signal,
            options.onNudgeFailed ?? (() => {}),
          );
    this.store = new ObjectStore({
      kube,
      swift: options.swift ?? kube,
      kinds,
      namespace,
      cache: this.ownWrites,
      now: () => this.#now(),
      signal: options.writeSignal ?? signal,
      mayAdopt: (id) => this.#mayAdopt(id),
      signerOf: (id) => this.#resolved?.signers.get(id),
      annotationsOf: options.annotationsOf,
      isWhole: (id) => this.#resolved?.whole.has(id) ?? false,
      ...(options.onRepair === undefined ? {} : { onRepair: options.onRepair }),
      onWritten: (place, digest) => this.#nudges?.written(place, digest),
    });
    this.objects = this.store.view(this.#withFields(named));
    this.authorities = new KubeAuthorities({
      kube,
      namespace,
      signal: options.writeSignal ?? signal,
      uidOf: (id) => this.#uidOf(id),
    });
    this.#states = options.wide.length === 0 ? undefined : this.#followStates();
    const { workloadCache } = options;
    this.rollouts =
      workloadCache === undefined
        ? undefined
        : new KubeRollouts(kube, workloadCache, () => this.#now(), options.writeSignal ?? signal);
    this.profiles = {
      cluster: options.clusterProfile ?? (() => readOpenShiftProfile(kube, signal)),
      workloads: (profile) =>
        workloadCache === undefined
          ? []
          : selectedBy(profile, this.#resolved?.catalogue.tlsProfiles ?? [], workloadCache, (consumer) =>
              this.rollouts?.obstacles.why(consumer, this.#now()),
            ),
      stamp: async (consumer, expect, hash) => this.rollouts?.stampProfile(consumer, expect, hash),
      remembered: (profile) => this.#remembered(idOf(profile)),
    };
    this.evidence = this.#seenBy(true);
    this.requests = new KubeRequests(async (id) => {
      const secret = await kube.get(secrets, { namespace, name: stateName(id) }, { signal });
      return secret?.metadata.annotations;
    });
    this.resources = { catalogue: async () => (await this.#freshlyResolved()).catalogue };
    this.cached = {
      objects: this.store.view(this.ownWrites),
      authorities:
        this.#states === undefined
          ? this.authorities
          : cachedAuthorities(this.authorities, this.#states, namespace),
      requests:
        this.#states === undefined
          ? this.requests
          : {
              pending: async (id) =>
                requestsIn(this.#states?.get(`${namespace}/${stateName(id)}`)?.metadata.annotations),
            },
      evidence: this.#seenBy(false),
    };
    this.facts = {
      consumersFound: options.consumersFound,
      cacheLag: CACHE_LAG,
      trustNamespace: options.trustNamespace,
      askedAt: (leaf) => this.#askedAt(leaf),
    };
  }

  /**
   * This home for one pass over one authority. An uncached look lists each kind once, and belongs to the pass that began it:
   * passes over several authorities run side by side and must not read through each other's.
   */
  forPass(): Home {
    let look: Source | undefined;
    const begun = (): Source => {
      if (look === undefined) throw new TypeError('a look begins with the resources');
      return look;
    };
    const objects = this.store.view({
      held: (place) => begun().held(place),
      all: (plural) => begun().all(plural),
    });
    return {
      objects,
      authorities: this.authorities,
      requests: this.requests,
      evidence: this.#seenBy(true),
      reloads: this.reloads,
      clock: this.clock,
      keys: this.keys,
      random: this.random,
      facts: this.facts,
      rollouts: this.rollouts,
      profiles: this.profiles,
      cached: this.cached,
      ledger: this.ledger,
      fairly: true,
      resources: {
        catalogue: async () => {
          look = this.#freshLook();
          return (await this.#freshlyResolved()).catalogue;
        },
      },
    };
  }

  /** API fields, whoever an Authority declares, and whoever's pods read something of it. */
  #seenBy(fresh: boolean): EvidenceSource {
    const { workloadCache, evidence, wordOf = () => undefined } = this.#options;
    if (evidence !== undefined) return evidence;
    const pods =
      workloadCache === undefined
        ? []
        : [
            new PodConsumers({
              workloadCache,
              showing: this.#showing,
              fresh,
              wordOf,
              obstacle: (consumer) => this.rollouts?.obstacles.why(consumer, this.#now()),
              isUnderWay: (consumer, version) => this.rollouts?.isUnderWay(consumer, version) ?? false,
              reloader: this.#options.reloader === true ? this.#reloaderCompat() : undefined,
            }),
          ];
    const fields: EvidenceSource = {
      consumers: async (responsibilities) => [
        ...fieldConsumers(responsibilities),
        ...wordOfOwners(responsibilities),
      ],
    };
    return this.#firstSight.of(together(fields, this.#declared, ...pods));
  }

  #reloaderCompat(): ReloaderCompat {
    return {
      takeOver: this.#options.takeOver,
      trusted: [this.#options.namespace],
      annotationsOf: async (plural, namespace, name) =>
        (await this.ownWrites.held({ plural, namespace, name, part: '' }))?.annotations ?? {},
    };
  }

  #followStates(): Informer<Secret> {
    const { kube, namespace, signal, onState } = this.#options;
    const states = new Informer<Secret>(kube, secrets, {
      namespace,
      labelSelector: `${STATE_LABEL}=true`,
      signal,
    });
    states.on('changed', ({ after, before }) =>
      onState((after ?? before)?.metadata.annotations?.['handover.dev/authority']),
    );
    states.start();
    return states;
  }

  #now(): Instant {
    return this.clock.now();
  }

  #serverTime(): Instant {
    const now = this.#options.kube.clock.now();
    if (now !== undefined) return now;
    throw new OperatorError('KUBE_UNAVAILABLE', 'the API server has not answered yet', { retry: 'later' });
  }

  async ready(): Promise<void> {
    const { declarations } = this.#options;
    await Promise.all([
      this.mirror.ready,
      this.#states?.ready,
      declarations.ready,
      this.#options.workloadCache?.ready,
    ]);
    await this.resolved();
  }

  get synced(): boolean {
    return this.mirror.synced && this.#options.declarations.synced && (this.#states?.synced ?? true);
  }

  /** The resources as the caches have them; reads them anew after `forget`. */
  async resolved(): Promise<ResolvedResources> {
    if (this.#resolved !== undefined) return this.#resolved;
    if (this.#registering !== undefined) return this.#registering;
    const reading = this.#resolveNow();
    this.#registering = reading;
    try {
      const resolved = await reading;
      // What was read before a `forget` must not outlive it.
      if (this.#registering === reading) this.#resolved = resolved;
      return resolved;
    } finally {
      if (this.#registering === reading) this.#registering = undefined;
    }
  }

  async #resolveNow(): Promise<ResolvedResources> {
    const { declarations } = this.#options;
    // Single objects have to be followed before they can be found.
    const first = await this.#resolveResources(declarations.all(), declarations.namespaces(), this.ownWrites);
    if (this.#options.once !== true) await this.mirror.follow(this.#toFollow(first));
    return this.#resolveResources(declarations.all(), declarations.namespaces(), this.ownWrites);
  }

  forget(): void {
    this.#resolved = undefined;
    this.#registering = undefined;
  }

  /** Tells the pods that read these, as after a write; whoever was told of the same content before hears nothing new. */
  nudge(stored: ReadonlyMap<ObjectId, StoredObject>): void {
    for (const [id, { record }] of stored)
      if (record !== undefined) this.#nudges?.written(placeOf(id), record.digest);
  }

  /** Where single objects are followed, the next look at each asks the API server: a few, and only those we can name. */
  doubtWhatIsNamed(): void {
    if (this.#options.wide.length > 0 || this.#resolved === undefined) return;
    for (const place of this.#toFollow(this.#resolved)) this.ownWrites.doubt(place);
  }

  #toFollow({ sources, declared }: ResolvedResources): readonly Place[] {
    const { wide } = this.#options;
    const places = new Map(
      sources.map((place) => [`${place.plural} ${place.namespace} ${place.name}`, place]),
    );
    for (const { resource } of declared) {
      for (const place of resource === undefined ? [] : placesOf(resource)) {
        if (!wide.includes(place.plural))
          places.set(`${place.plural} ${place.namespace} ${place.name}`, place);
      }
    }
    return [...places.values()];
  }

  #known(plural: Plural): readonly Place[] {
    return (this.#resolved === undefined ? [] : this.#toFollow(this.#resolved)).filter(
      (place) => place.plural === plural,
    );
  }

  #resolveResources(
    declared: ResolvedResources['declared'],
    namespaces: ResolveOptions['namespaces'],
    source: Source,
  ): Promise<ResolvedResources> {
    const { trustNamespace, clusterTrustBundles, injectionOf, takeOver, more } = this.#options;
    return resolveResources(declared, {
      source,
      namespaces,
      trustNamespace,
      clusterTrustBundles,
      injectionOf,
      takeOver,
      more,
    });
  }

  /** What the API server has now; whatever it lists, it lists once. */
  #freshLook(): Source {
    const { kube, kinds, signal, wide, namespaces } = this.#options;
    return this.#withFields(
      wide.length === 0
        ? new OneByOne({ kube, kinds, signal }, (plural) => this.#known(plural))
        : new FreshLook({ kube, kinds, namespaces, signal }, (place) => this.#mayBeThere(place)),
    );
  }

  /** Fields stay as the cache has them: docs/decisions/0305. */
  #withFields(server: Source): Source {
    return {
      held: (place) => (isField(place) ? this.ownWrites.held(place) : server.held(place)),
      all: (plural) =>
        plural === 'secrets' || plural === 'configmaps' ? server.all(plural) : this.ownWrites.all(plural),
    };
  }

  async #freshlyResolved(): Promise<ResolvedResources> {
    const { declarations } = this.#options;
    const [labels, declared] = await Promise.all([declarations.freshNamespaces(), declarations.fresh()]);
    return this.#resolveResources(declared, labels, this.ownWrites);
  }

  /** There without our label: seen before, a source in other hands, or to be taken over. */
  #mayBeThere(place: Place): boolean {
    const { plural, namespace, name } = place;
    return (
      this.ownWrites.isStranger(place) ||
      this.#mayAdopt(idOfPlace(place)) ||
      this.#resolved?.sources.some(
        (source) => source.plural === plural && source.namespace === namespace && source.name === name,
      ) === true
    );
  }

  #askedAt(leaf: string): Instant | undefined {
    const found = this.#resolved?.declared.find(
      ({ kind, namespace, name }) => kind === 'Leaf' && `${namespace}/${name}` === leaf,
    );
    return found === undefined || found.createdAt === 0 ? undefined : found.createdAt;
  }

  #uidOf(authority: AuthorityId): string | undefined {
    const found = this.declared('Authority', authority);
    // What a file or a program declares has no version and no UID of an API server.
    return found === undefined || found.version === '' ? undefined : found.uid;
  }

  /** A resource with its status as it was seen last: the register does not change with that. */
  declared(kind: string, id: string): Declared | undefined {
    return this.#options.declarations
      .all()
      .find((declared) => declared.kind === kind && `${declared.namespace}/${declared.name}` === id);
  }

  /** What the status of a TLSProfile says was written. */
  #remembered(profile: string): string | undefined {
    const { status } = this.declared('TLSProfile', profile) ?? {};
    return isMap(status) && typeof status.hash === 'string' ? status.hash : undefined;
  }

  /** The resource that asks for an object may say that it is to be taken over. */
  #mayAdopt(id: ObjectId): boolean {
    return this.#resolved?.adoptable.has(id) === true;
  }
}
