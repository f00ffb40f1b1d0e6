import { randomBytes } from 'node:crypto';
import { AUTHORITY, STATE_LABEL } from '@handover/core';
import {
  CreationDates,
  type EvidenceSource,
  type Home,
  type HomeClock,
  type IssuedEntry,
  type Issuer,
  idOf,
  issuerWith,
  type Keyring,
  keyMaker,
  type Ledger,
  localKeyring,
  type ObjectId,
  type ObjectReader,
  type ObjectWriter,
  OutputPreparer,
  type ProfileReader,
  type ProfileWriter,
  processHere,
  type Readers,
  type Reissues,
  readSnapshot,
  type Snapshot,
  type StoredObject,
  WatchedClock,
} from '@handover/engine';
import { type Kube, type Secret, secrets } from '@handover/kube';
import { after, duration, type Instant, second } from '@handover/material';
import type { Budget } from '../cache/budget.ts';
import { Watched } from '../cache/watched.ts';
import { OperatorError } from '../error.ts';
import { KubeAuthorities, requestsIn, STATES, stateName } from '../objects/authorities.ts';
import { FollowedPasswords, readPassword, secretPasswords } from '../objects/followed-passwords.ts';
import { askingSource, FreshSource, GetByName, type Source } from '../objects/fresh.ts';
import { Mirror } from '../objects/mirror.ts';
import { ObjectStore } from '../objects/object-store.ts';
import { readOpenShiftProfile } from '../objects/openshift.ts';
import { OwnWritesCache } from '../objects/own-writes-cache.ts';
import { isField, placeOf } from '../objects/place.ts';
import { knownIn } from '../resources/askers.ts';
import type { Declared } from '../resources/declared.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { Nudges } from '../workloads/nudge.ts';
import { KubeRollouts } from '../workloads/rollouts.ts';
import { selectedBy } from '../workloads/selected.ts';
import { evidenceWith } from './evidence.ts';
import type { KubeHomeOptions } from './options.ts';
import { KubeRequests } from './requests.ts';
import { Resolver } from './resolver.ts';

/** What a TLSProfile needs to know of a cluster. */
const profilesOf = (
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

/** What the API server has now; whatever it lists, it lists once. Fields stay as the cache has them: docs/decisions/0305. */
const freshSource = (
  { connection: { kube, budget, signal }, scope: { kinds, wide, namespaces } }: KubeHomeOptions,
  ownWrites: OwnWritesCache,
  named: GetByName,
  resolver: Resolver,
  mirror: Mirror,
): Source => {
  const server =
    wide.length === 0
      ? named
      : new FreshSource(
          { kube, budget, kinds, namespaces, signal, cached: (place) => mirror.get(place) },
          (place) => ownWrites.isStranger(place) || resolver.isWanted(place),
        );
  return {
    held: (place) => (isField(place) ? ownWrites.held(place) : server.held(place)),
    all: (plural) =>
      plural === 'secrets' || plural === 'configmaps' ? server.all(plural) : ownWrites.all(plural),
  };
};

/** Secrets with the states of authorities, as a watch has them. */
const followStates = (
  { kube, budget }: { readonly kube: Kube; readonly budget?: Budget | undefined },
  namespace: string,
  signal: AbortSignal,
  onChange: (authority: string) => void,
): Watched<Secret, Secret> => {
  const labelSelector = `${STATE_LABEL}=true`;
  const states = new Watched(kube, secrets, { namespace, labelSelector, projection: STATES, budget });
  states.on('changed', ({ after, before }) => {
    const authority = (after ?? before)?.metadata.annotations?.[AUTHORITY];
    if (authority !== undefined) onChange(authority);
  });
  states.start(signal);
  return states;
};

/** The kubelet's cache can hand a file that is this old to a starting pod. */
const CACHE_LAG = duration(10 * second);
/**
 * The kubelet keeps a ClusterTrustBundle that it found by name for five minutes, whatever changes, also for pods that start meanwhile: 290 to
 * 310 s measured with Kubernetes 1.35 and 1.36, 357 s with 1.37.1, up to 374 s with its candidates (kubernetes#141439).
 */
const TRUST_BUNDLE_LAG = duration(380 * second);

/** An API server tells its time in whole seconds; with several of them, answers may come from any. */
const CLOCK_TOLERANCE_MS = 5_000;
/** A Kubernetes API server as a home. */
export class KubeHome implements Home {
  readonly #options: KubeHomeOptions;
  readonly #mirror: Mirror;
  readonly #passwords: FollowedPasswords;
  readonly #resolver: Resolver;
  readonly #nudges: Nudges | undefined;
  readonly #evidence: (fresh: boolean) => EvidenceSource;
  readonly #named: GetByName;
  /** What every snapshot reads from, however fresh. */
  readonly #shared: Pick<Readers, 'facts' | 'outputs' | 'profiles' | 'clock'>;
  readonly #cached: Readers;
  #states: Watched<Secret, Secret> | undefined;
  readonly ownWrites: OwnWritesCache;
  readonly store: ObjectStore;
  /** Objects as the caches have them. */
  readonly cachedObjects: ObjectReader;
  readonly objects: ObjectWriter;
  readonly authorities: KubeAuthorities;
  readonly requests: KubeRequests;
  readonly rollouts: KubeRollouts | undefined;
  readonly profiles: ProfileWriter;
  readonly reissues: Reissues | undefined;
  readonly clock: HomeClock;
  readonly keyring: Keyring;
  readonly issuer: Issuer;
  readonly random = (bytes: number): Uint8Array => randomBytes(bytes);
  readonly ledger: Ledger;
  readonly multiTenant: boolean;

  constructor(options: KubeHomeOptions) {
    this.#options = options;
    const { connection, scope, resources, consumers, on = {}, keys = keyMaker() } = options;
    const { kube, budget, signal, writeSignal = signal } = connection;
    const { kinds, namespace, once = false } = scope;
    const now = (): Instant => this.clock.now();
    this.keyring = localKeyring(keys);
    this.issuer = issuerWith(keys, this.random);
    this.multiTenant = !once;
    this.reissues = options.externallyHeld;
    this.clock = new WatchedClock(
      () => this.#serverTime(),
      () => kube.clock.monotonic(),
      { tolerance: CLOCK_TOLERANCE_MS },
    );
    const issued = async (entry: IssuedEntry): Promise<void> => on.issued?.(entry);
    this.ledger = {
      issued,
      known: (asked) => knownIn(resources.declarations.all(), asked),
      self: options.identity ?? processHere(),
    };
    this.#mirror = new Mirror({
      kube,
      budget,
      kinds,
      wide: scope.wide,
      namespaces: scope.namespaces,
      onChange: on.change ?? (() => {}),
      onTrouble: on.trouble,
      isServed: (plural) => plural !== 'clustertrustbundles' || resources.clusterTrustBundles(),
    });
    this.#passwords = new FollowedPasswords({ kube, budget, onChange: on.password, onTrouble: on.trouble });
    this.#named = new GetByName({ kube, kinds, signal }, (plural) => this.#resolver.known(plural));
    this.ownWrites = new OwnWritesCache(once ? this.#named : this.#mirror, this.#named, kube.clock);
    this.#resolver = new Resolver(resources, scope, this.ownWrites, async (places, passwords) => {
      if (once) return;
      this.#passwords.follow(passwords);
      await this.#mirror.follow(places);
    });
    const { workloads } = consumers;
    this.#nudges =
      workloads === undefined || consumers.nudge === false
        ? undefined
        : new Nudges(kube, workloads, writeSignal, on.nudgeFailed ?? (() => {}));
    this.store = new ObjectStore({
      kube,
      caBundleClient: connection.caBundleClient ?? kube,
      kinds,
      namespace,
      cache: this.ownWrites,
      now,
      signal: writeSignal,
      mayAdopt: (id) => this.#resolver.last?.adoptable.has(id) === true,
      signerOf: (id) => this.#resolver.last?.signers.get(id),
      annotationsOf: resources.annotationsOf,
      isWhole: (id) => this.#resolver.last?.whole.has(id) ?? false,
      ...(on.repair === undefined ? {} : { onRepair: on.repair }),
      onWritten: (place, digest) => this.#nudges?.written(place, digest),
    });
    this.objects = this.store;
    this.cachedObjects = this.store.view(this.ownWrites);
    this.authorities = new KubeAuthorities({
      kube,
      namespace,
      signal: writeSignal,
      uidOf: (id) => this.#resolver.uidOf(id),
      createdAtOf: (id) => this.#resolver.declared('Authority', id)?.createdAt,
    });
    this.requests = new KubeRequests({
      kube,
      namespace,
      authorities: this.authorities,
      isStored: (id) => this.#resolver.uidOf(id) !== undefined,
      signal,
    });
    this.rollouts = workloads === undefined ? undefined : new KubeRollouts(kube, workloads, now, writeSignal);
    this.profiles = {
      stamp: async (consumer, expect, hash) => this.rollouts?.stampProfile(consumer, expect, hash),
    };
    this.#evidence = evidenceWith({
      options,
      making: { keyring: this.keyring, keys, random: this.random, log: { issued } },
      // The API server's time is known to the second: what it has just dated may lie a little ahead of what we take for now.
      creationDates: new CreationDates({
        now: () => after(now(), 2 * second),
        setBacks: () => this.clock.setBacks?.() ?? [],
      }),
      rollouts: this.rollouts,
      source: this.ownWrites,
      now,
    });
    this.#shared = {
      outputs: new OutputPreparer(
        kube.clock,
        secretPasswords((place) => (once ? readPassword(kube, place, signal) : this.#passwords.read(place))),
      ),
      profiles: profilesOf(options, this.#resolver, this.rollouts, now),
      facts: {
        consumersFound: consumers.found,
        cacheLag: CACHE_LAG,
        cacheLagOf: (id) => (placeOf(id).plural === 'clustertrustbundles' ? TRUST_BUNDLE_LAG : undefined),
        trustNamespace: scope.trustNamespace,
        defaultCas: scope.defaultCas,
        selectsSources: resources.selected !== undefined,
        askedAt: (leaf) => this.#resolver.askedAt(leaf),
      },
      clock: this.clock,
    };
    this.#cached = {
      ...this.#shared,
      objects: this.store.view(
        askingSource(this.ownWrites, this.#named, (place) => this.#resolver.isAdopted(place)),
      ),
      evidence: this.#evidence(false),
      externallyHeld: options.externallyHeld?.reader(false),
      // Where states are not followed they are asked for.
      authorities: {
        load: async (id) =>
          this.#states === undefined
            ? this.authorities.load(id)
            : this.authorities.parsed(
                id,
                this.authorities.newest(id, this.#states.get(`${namespace}/${stateName(id)}`)),
              ),
      },
      requests: {
        pending: async (id) =>
          this.#states === undefined
            ? this.requests.pending(id)
            : requestsIn(this.#states.get(`${namespace}/${stateName(id)}`)?.metadata.annotations),
      },
    };
  }

  /** A snapshot that lists each kind once, and belongs to the pass that read it. */
  readonly fresh = (): Promise<Snapshot> => {
    const source = freshSource(this.#options, this.ownWrites, this.#named, this.#resolver, this.#mirror);
    return readSnapshot(
      {
        ...this.#shared,
        objects: this.store.view(source),
        authorities: this.authorities,
        requests: this.requests,
        evidence: this.#evidence(true),
        externallyHeld: this.#options.externallyHeld?.reader(true),
      },
      async () => (await this.#resolver.fresh()).catalogue,
    );
  };

  readonly cached = (): Promise<Snapshot> =>
    readSnapshot(this.#cached, async () => (await this.#resolver.resolved()).catalogue);

  /** Begins to follow the cluster, with everything that `ready` waits for. */
  start(signal: AbortSignal): void {
    const { connection, scope, resources, consumers, on } = this.#options;
    resources.declarations.start?.(signal);
    consumers.workloads?.start?.(signal);
    this.#mirror.start(signal);
    this.#passwords.start(signal);
    if (scope.wide.length === 0) return;
    this.#states = followStates(connection, scope.namespace, signal, on?.state ?? (() => {}));
  }

  #serverTime(): Instant {
    const now = this.#options.connection.kube.serverClock.now();
    if (now !== undefined) return now;
    throw new OperatorError('KUBE_UNAVAILABLE', 'the API server has not answered yet', { retry: 'later' });
  }

  async ready(): Promise<void> {
    const { resources, consumers } = this.#options;
    await Promise.all([
      this.#mirror.ready,
      this.#states?.ready,
      resources.declarations.ready,
      consumers.workloads?.ready,
    ]);
    await this.resolved();
    await this.#passwords.settled();
  }

  get synced(): boolean {
    const { declarations } = this.#options.resources;
    return this.#mirror.synced && declarations.synced && (this.#states?.synced ?? true);
  }

  resolved(): Promise<ResolvedResources> {
    return this.#resolver.resolved();
  }

  forget(): void {
    this.#resolver.forget();
  }

  declared(kind: string, id: string): Declared | undefined {
    return this.#resolver.declared(kind, id);
  }

  /** The API server serves ClusterTrustBundles in another version, or no longer, or now. */
  async trustBundlesChanged(): Promise<void> {
    await this.#mirror.again('clustertrustbundles');
    this.forget();
  }

  /** Tells the pods that read these, as after a write; a pod that was told of the same content before hears nothing new. */
  nudge(stored: ReadonlyMap<ObjectId, StoredObject>): void {
    for (const [id, { record }] of stored) if (record !== undefined) this.nudgeOf(id, record.digest);
  }

  nudgeOf(id: ObjectId, digest: string): void {
    this.#nudges?.written(placeOf(id), digest);
  }

  /** Where single objects are followed, the next read of each asks the API server: a few, and only those we can name. */
  doubtWhatIsNamed(): void {
    if (this.#options.scope.wide.length > 0) return;
    for (const place of this.#resolver.places) this.ownWrites.doubt(place);
  }
}
