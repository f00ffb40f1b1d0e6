import { setMaxListeners } from 'node:events';
import { type Action, type Plan, type ProfileAction, plan, type TlsProfile } from '@handover/core';
import {
  authorityRef,
  type Home,
  idOf,
  isAtRest,
  type Meters,
  type Outcome,
  observe,
  reconcile,
  reconcileProfile,
  reconcileStaticBundle,
  repair,
  type Sight,
  throughCache,
  toldOfPlatform,
  type Vitals,
  vitalsOf,
  WorkQueue,
} from '@handover/engine';
import { type Kube, type LeaderLease, lead } from '@handover/kube';
import { after, HandoverError, type Instant, instant } from '@handover/material';
import { Compatibility } from '../compat/compatibility.ts';
import { Refusals } from '../compat/refusals.ts';
import { leafIdOf } from '../compat/service-ca.ts';
import { errorsOf, ServiceErrors } from '../compat/service-errors.ts';
import type { Held } from '../home/held.ts';
import { KubeHome } from '../home/home.ts';
import { kindsWith, trustBundleVersion } from '../home/kinds.ts';
import { OpenShiftProfile } from '../home/openshift.ts';
import { keyOf, PLURALS, type Plural, placeOf } from '../home/place.ts';
import type { Compat } from '../install/index.ts';
import { decisive, FIELD_PLURALS, gateOf, type Register } from '../resources/catalogue.ts';
import { CustomResources, type Declarations } from '../resources/declarations.ts';
import type { Declared } from '../resources/declared.ts';
import { isSynthetic } from '../resources/injections.ts';
import type { Pod } from '../workloads/pods.ts';
import { Population } from '../workloads/population.ts';
import { statusOfBundle } from './bundle-status.ts';
import { Drifts } from './drifts.ts';
import { PlatformKeeper } from './platform.ts';
import { statusOfProfile } from './profile-status.ts';
import { SeenWriter, seenEvidence } from './seen.ts';
import { find, invalidStatus, obstaclesIn, statusOfAuthority, statusOfLeaves } from './status.ts';
import { StatusWriter } from './status-writer.ts';
import { Telling } from './telling.ts';
import { driftKey, PLATFORM, RESOURCES, WorkIndex, workKey, workOf } from './work.ts';

/** What an operator has to say. */
export type OperatorEvent =
  | { readonly kind: 'started'; readonly identity: string }
  | { readonly kind: 'leading'; readonly held: boolean }
  | {
      readonly kind: 'acted';
      readonly authority: string;
      readonly actions: readonly Action[];
      readonly plan: Plan;
      /** What the plan was made on, private keys included: for whoever shows it, not for a log. */
      readonly sight: Sight;
    }
  | {
      readonly kind: 'rested';
      readonly authority: string;
      readonly plan: Plan;
      readonly vitals: Vitals;
      readonly sight: Sight;
    }
  | { readonly kind: 'profiled'; readonly profile: string; readonly actions: readonly ProfileAction[] }
  | { readonly kind: 'repaired'; readonly object: string; readonly manager: string }
  /** What cannot be written now, and why; empty: everything can again. Said when it changes. */
  | { readonly kind: 'obstructed'; readonly authority: string; readonly obstacles: readonly string[] }
  | { readonly kind: 'refused'; readonly object: string; readonly why: string }
  | {
      readonly kind: 'failed';
      readonly what: string;
      readonly error: unknown;
      readonly retryAt: Instant | undefined;
    };

export interface OperatorOptions {
  readonly kube: Kube;
  /** A client without a rate limit, for API fields: their repair must not wait behind other work. Default: `kube`. */
  readonly swift?: Kube | undefined;
  /** Its own namespace: the Lease and the authorities lie there. */
  readonly namespace: string;
  readonly identity: string;
  readonly trustNamespace?: string | undefined;
  /** Resources from elsewhere than custom resources: then nothing is listed that cannot be named. */
  readonly declarations?: Declarations | undefined;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  /** Whose annotations are honoured beside our own. */
  readonly compat?: readonly Compat[] | undefined;
  /** `namespace/name` of the Authority that stands in for service-ca's. */
  readonly serviceCaAuthority?: string | undefined;
  /** Whether fields that another controller keeps become ours. Default: they are left alone and named. */
  readonly takeOver?: boolean | undefined;
  /** False: nobody looks at pods; whoever reads an object rests on `settle`, by its owner's word. Default: true, unless resources are given. */
  readonly consumersFound?: boolean;
  /** False: pods are not told when something they read was written. */
  readonly nudge?: boolean;
  readonly leaseName?: string;
  /** Milliseconds within which a change that no event told of is found, give or take a third. Default 30,000. */
  readonly resync?: number;
  /** Something that is followed changed, whoever leads. */
  readonly onSeen?: (() => void) | undefined;
  readonly meters?: Meters | undefined;
  readonly on: (event: OperatorEvent) => void;
  readonly signal: AbortSignal;
}

const RESYNC_MS = 30_000;
/** How often is looked again while somebody is waited for. */
const ASK_AGAIN_MS = 2_000;
const DEBOUNCE_MS = 20;
/** How long after a drift was put right everything is looked at. */
const AFTER_DRIFT_MS = 1_000;
const POD_DEBOUNCE_MS = 200;
/** Lost races in a row on the same work that are tried again at once. */
const MOST_RACES = 5;
/** How long a write that has left may take once we are told to stop. */
const LAST_WRITES_MS = 800;
/** Whoever stops is gone by then, whether or not the lease could be given up. */
const LAST_WORD_MS = 950;
/** Others lead at most 12 s + one look of 1.65 s after a leader's last sign of life: within 15 s even if it dies just after one. */
const LEASE = { duration: 12_000, renewWithin: 8_000, renew: 1_500 } as const;

/** What came of one piece of work. */
interface Passed {
  readonly again: Instant | undefined;
  /** Whether something was done, after which there may be more to do. */
  readonly acted?: boolean;
}
const NOTHING: Passed = { again: undefined };

/** The Kubernetes home, kept for ever by whoever leads. */
export class Operator {
  readonly #options: OperatorOptions;
  readonly #resync: number;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #home: KubeHome | undefined;
  #lease: LeaderLease | undefined;
  #index: WorkIndex | undefined;
  #queue: WorkQueue | undefined;
  #statuses: StatusWriter | undefined;
  #seen: SeenWriter | undefined;
  #compat: Compatibility | undefined;
  #refusals: Refusals | undefined;
  #serviceErrors: ServiceErrors | undefined;
  #telling: Telling | undefined;
  readonly #done = new Set<string>();
  readonly #races = new Map<string, number>();
  readonly #obstacles = new Map<string, readonly string[]>();
  readonly #drifts = new Drifts();
  /** Authorities with a rotation under way. */
  readonly #moving = new Set<string>();
  /** Authorities looked at in this term; and those whose rotation somebody else began, until its pods were nudged. */
  readonly #looked = new Set<string>();
  readonly #inherited = new Set<string>();
  readonly #platform: PlatformKeeper;
  #running: Promise<void> | undefined;
  /** Ends writes that hang. */
  readonly #writes = new AbortController();
  /** Whether anybody was ever seen to lead. */
  #led = false;
  /** What went wrong last with a watch or the Lease. */
  #worry: string | undefined;
  #lookDue = 0;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#resync = options.resync ?? RESYNC_MS;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
    this.#platform = new PlatformKeeper(options.kube, this.#signal, (what, error) =>
      options.on({ kind: 'failed', what, error, retryAt: undefined }),
    );
    // Every watch listens to it.
    setMaxListeners(0, this.#signal);
  }

  /** What stands between now and ready, in words. */
  waitingFor(): readonly string[] {
    const worry = this.#worry === undefined ? '' : `: ${this.#worry}`;
    if (this.#home === undefined) return [`the API server has not answered yet${worry}`];
    if (!this.#home.synced || this.#index === undefined)
      return [`the first look at the cluster is not over yet${worry}`];
    if (this.#lease?.held !== true) {
      const another = this.#lease?.holder !== undefined && this.#lease.holder !== this.#options.identity;
      return this.#led || another ? [] : [`nobody leads yet${worry}`];
    }
    return this.#index.keys
      .filter((key) => !this.#done.has(key))
      .map((key) => `${key} has not been put right yet`);
  }

  get leads(): boolean {
    return this.#queue !== undefined;
  }

  /** Identity of whoever leads, as far as it is known here. */
  get leader(): string | undefined {
    return this.#lease?.holder;
  }

  /**
   * How every authority stands, for whoever does not lead: out of what is followed anyway, and what the leader last wrote down
   * about consumers. Nobody is probed, nothing is written.
   */
  async lookAside(): Promise<
    readonly { readonly authority: string; readonly plan: Plan; readonly sight: Sight }[]
  > {
    const home = this.#home;
    if (home === undefined || !home.synced) return [];
    const { catalogue } = await home.register();
    const { kube, namespace } = this.#options;
    const evidence = seenEvidence(kube, namespace, this.#signal);
    const aside = { ...throughCache(home, home.cached), evidence };
    const looks = [];
    for (const authority of catalogue.authorities.keys()) {
      const sight = await observe(aside, catalogue, authority);
      looks.push({ authority, sight, plan: plan(sight.seen, sight.duties.policy, sight.now) });
    }
    return looks;
  }

  get home(): KubeHome | undefined {
    return this.#home;
  }

  get register(): Promise<Register> | undefined {
    return this.#home?.register();
  }

  /** Runs until the signal. */
  async run(): Promise<void> {
    const { kube, namespace, identity, on } = this.#options;
    on({ kind: 'started', identity });
    const version = await this.#trustBundleVersion();
    if (this.#signal.aborted) return;
    const name = this.#options.leaseName ?? 'handover';
    const lease = lead(kube, { namespace, name, identity, ...LEASE });
    this.#lease = lease;
    lease.on('trouble', (error) => this.#trouble(`Lease ${namespace}/${name}`, error));
    const released = this.#releaseAtEnd(lease);
    const home = this.#open(kube.fenced(lease), (this.#options.swift ?? kube).fenced(lease), version);
    this.#home = home;
    lease.on('lost', () => this.#end());
    try {
      await Promise.race([this.#compat?.ready, released]);
      await Promise.race([home.ready(), released]);
    } catch (error) {
      // Watches that are told to stop say so.
      if (!this.#signal.aborted) throw error;
    }
    if (!this.#signal.aborted) {
      await this.#reindex();
      this.#options.onSeen?.();
      lease.on('gained', () => this.#begin(home));
      if (lease.held) this.#begin(home);
    }
    await released;
    await this.#running;
  }

  /** From the signal on nothing is written any more; what is under way has a moment to end; then the lease is given up. */
  async #releaseAtEnd(lease: LeaderLease): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        setTimeout(() => this.#writes.abort(), LAST_WRITES_MS).unref();
        setTimeout(resolve, LAST_WORD_MS).unref();
        void lease.release().then(resolve);
      };
      if (this.#signal.aborted) end();
      else this.#signal.addEventListener('abort', end, { once: true });
    });
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Goes on by itself; said, and shown by whoever is not ready. */
  #trouble(what: string, error: unknown): void {
    if (this.#signal.aborted) return;
    this.#worry = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    this.#options.on({ kind: 'failed', what, error, retryAt: undefined });
  }

  /** Which version of ClusterTrustBundles there is; asked until the API server answers. */
  async #trustBundleVersion(): Promise<string | undefined> {
    const { kube } = this.#options;
    for (let wait = 200; !this.#signal.aborted; wait = Math.min(wait * 2, 10_000)) {
      try {
        return await trustBundleVersion(kube, this.#signal);
      } catch (error) {
        if (this.#signal.aborted) break;
        this.#trouble('the API server', error);
        await pause(wait * (0.5 + Math.random() / 2), this.#signal);
      }
    }
    return undefined;
  }

  #open(kube: Kube, swift: Kube, trustBundleVersion: string | undefined): KubeHome {
    const {
      namespace,
      trustNamespace = namespace,
      namespaces,
      compat = [],
      serviceCaAuthority,
      takeOver = false,
    } = this.#options;
    const given = this.#options.declarations;
    const declarations =
      given ??
      new CustomResources({
        kube,
        signal: this.#signal,
        only: namespaces,
        onChange: () => this.#resourcesChanged(),
      });
    const consumersFound = this.#options.consumersFound ?? given === undefined;
    const population =
      given === undefined && consumersFound
        ? new Population({
            kube,
            namespaces,
            signal: this.#signal,
            onPod: (before, now) => this.#podChanged(before, now),
            onWorkload: () => this.#lookSoon(this.#moving),
          })
        : undefined;
    const cluster = namespaces === undefined;
    const annotated = given === undefined && cluster;
    this.#compat = annotated
      ? new Compatibility({
          kube,
          compat,
          serviceCaAuthority,
          takeOver,
          signal: this.#signal,
          onChange: () => this.#resourcesChanged(),
        })
      : undefined;
    const openShift = new OpenShiftProfile(kube, this.#signal, () => void this.#platformProfileChanged());
    const wide = PLURALS.filter((plural) =>
      plural === 'clustertrustbundles'
        ? cluster && trustBundleVersion !== undefined
        : cluster || plural === 'secrets' || plural === 'configmaps',
    );
    return new KubeHome({
      kube,
      swift,
      kinds: kindsWith(trustBundleVersion ?? 'v1'),
      namespace,
      trustNamespace,
      declarations,
      wide: given === undefined ? wide : [],
      namespaces,
      clusterTrustBundles: trustBundleVersion !== undefined,
      wishOf: this.#compat?.wishOf,
      clusterProfile: () => openShift.read(),
      takeOver,
      more: this.#compat?.more,
      annotationsOf: (id, record) => this.#compat?.annotationsOf(id, record),
      consumersFound,
      population,
      nudge: this.#options.nudge ?? true,
      meters: this.#options.meters,
      reloader: compat.includes('reloader'),
      signal: this.#signal,
      writeSignal: this.#writes.signal,
      onChange: (plural, key, before, now) => this.#objectChanged(plural, key, before, now),
      onState: (authority) => {
        if (authority !== undefined)
          for (const key of this.#index?.ofState(authority) ?? []) this.#queue?.add(key);
      },
      onTrouble: (what, error) => this.#trouble(what, error),
      onRepair: (object, manager) => this.#repaired(object, manager),
      onNudgeFailed: (error) =>
        this.#options.on({ kind: 'failed', what: 'nudging a pod', error, retryAt: undefined }),
    });
  }

  #repaired(object: string, manager: string): void {
    this.#options.on({ kind: 'repaired', object, manager });
    const place = placeOf(object);
    const keepers = this.#index?.of(place.plural, keyOf(place)) ?? [];
    void this.#home
      ?.register()
      .then((register) => this.#telling?.repaired(register, keepers, object, manager));
  }

  /** A pod that comes, goes, or becomes ready may be what a step waits for. */
  #podChanged(before: Pod | undefined, now: Pod | undefined): void {
    const { namespace, references } = now ?? before ?? { namespace: '', references: [] };
    const work = references.flatMap(({ plural, name }) => [
      ...(this.#index?.of(plural, plural === 'clustertrustbundles' ? name : `${namespace}/${name}`) ?? []),
    ]);
    this.#lookSoon(work.filter((key) => this.#moving.has(key)));
  }

  async #platformProfileChanged(): Promise<void> {
    const register = await this.#home?.register().catch(() => undefined);
    for (const profile of register?.catalogue.tlsProfiles ?? [])
      if (profile.spec.type === 'OpenShift') this.#queue?.add(workKey('TLSProfile', idOf(profile)));
  }

  #lookSoon(keys: Iterable<string>): void {
    if (this.#home === undefined || this.#queue === undefined) return;
    const soon = after(this.#home.clock.now(), POD_DEBOUNCE_MS);
    for (const key of keys) this.#queue.add(key, soon);
  }

  #resourcesChanged(): void {
    this.#home?.forget();
    const queue = this.#queue;
    if (queue !== undefined && this.#home !== undefined)
      queue.add(RESOURCES, after(this.#home.clock.now(), DEBOUNCE_MS));
    else if (this.#index !== undefined) void this.#reindex().catch(() => {});
  }

  #objectChanged(plural: Plural, key: string, before: Held | undefined, now: Held | undefined): void {
    this.#options.onSeen?.();
    this.#home?.overlay.unlessOurs(plural, key, now?.version, () => {
      for (const work of this.#index?.of(plural, key) ?? [])
        this.#queue?.add(this.#drifts.note(work, plural, key) ? driftKey(work) : work);
    });
    // What there is to inject may have changed with it.
    const gate = this.#index?.gate(plural, key);
    const changed = FIELD_PLURALS.includes(plural)
      ? decisive(before) !== decisive(now)
      : gate !== undefined && gateOf(before, gate) !== gateOf(now, gate);
    if (changed) this.#resourcesChanged();
  }

  async #reindex(): Promise<Register | undefined> {
    const register = await this.#home?.register();
    if (register !== undefined)
      this.#index = new WorkIndex(
        register,
        this.#options.trustNamespace ?? this.#options.namespace,
        // Who hands resources over has given rights to those objects and no others.
        this.#options.declarations === undefined,
      );
    return register;
  }

  #begin(home: KubeHome): void {
    if (this.#queue !== undefined) return;
    const term = new AbortController();
    const signal = AbortSignal.any([this.#signal, term.signal]);
    this.#endTerm = () => term.abort();
    this.#led = true;
    this.#done.clear();
    this.#looked.clear();
    this.#inherited.clear();
    const fenced = this.#options.kube.fenced(this.#lease ?? NEVER);
    const failed = (what: string, error: unknown): void =>
      this.#options.on({ kind: 'failed', what, error, retryAt: undefined });
    // Resources that somebody handed over have no status to write.
    if (this.#options.declarations === undefined) {
      this.#statuses = new StatusWriter(fenced, signal, failed);
      this.#seen = new SeenWriter(fenced, this.#options.namespace, signal, failed);
      const { identity } = this.#options;
      const now = (): Instant => home.clock.now();
      this.#telling = new Telling({ kube: fenced, identity, now, signal, onError: failed });
    }
    this.#refusals = new Refusals({
      kube: fenced,
      identity: this.#options.identity,
      signal,
      onRefusal: (object, why) => this.#options.on({ kind: 'refused', object, why }),
      onError: failed,
    });
    this.#serviceErrors = new ServiceErrors({
      kube: this.#options.kube.fenced(this.#lease ?? NEVER),
      signal,
      onError: (what, error) => this.#options.on({ kind: 'failed', what, error, retryAt: undefined }),
    });
    const queue = new WorkQueue({
      now: () => home.clock.now(),
      random: Math.random,
      onError: (what, error, retryAt) => this.#options.on({ kind: 'failed', what, error, retryAt }),
      work: (key) => this.#work(home, key),
    });
    this.#queue = queue;
    this.#options.meters?.queue(() => ({ due: queue.due, planned: queue.size }));
    queue.add(RESOURCES);
    this.#options.on({ kind: 'leading', held: true });
    this.#running = queue.run(signal).finally(() => this.#statuses?.stop());
  }

  #endTerm: () => void = () => {};

  #end(): void {
    if (this.#queue === undefined) return;
    this.#endTerm();
    this.#queue = undefined;
    this.#options.on({ kind: 'leading', held: false });
  }

  async #work(home: KubeHome, key: string): Promise<Instant | undefined> {
    const work = workOf(key);
    try {
      if (work.kind === 'Drift') return await this.#putRight(home, work.id);
      const { again, acted = false } =
        work.kind === 'resources' ? await this.#readResources(home) : await this.#pass(home, work);
      this.#races.delete(key);
      // A pass takes one step: only one that found nothing left to do has put everything right.
      if (work.kind !== 'resources' && !acted) this.#done.add(key);
      return again;
    } catch (error) {
      const races = (this.#races.get(key) ?? 0) + 1;
      // Somebody else was faster: no failure, look again.
      if (isConflict(error) && races <= MOST_RACES) {
        this.#races.set(key, races);
        return home.clock.now();
      }
      this.#races.delete(key);
      throw error;
    }
  }

  async #readResources(home: KubeHome): Promise<Passed> {
    const before = new Set(this.#index?.keys);
    const register = await this.#reindex();
    if (register === undefined || this.#index === undefined) return NOTHING;
    const wanted = new Set(this.#index.keys);
    for (const gone of before) {
      if (wanted.has(gone)) continue;
      this.#queue?.drop(gone);
      this.#telling?.forget(gone.replace(/^Authority /, ''));
    }
    for (const key of wanted) this.#queue?.add(key);
    const now = home.clock.now();
    for (const declared of register.declared) {
      const problem = register.problems.get(declared.uid) ?? orphanhood(register, declared);
      if (problem !== undefined) this.#statuses?.put(declared, invalidStatus(declared, problem, now));
      this.#telling?.invalid(declared, problem);
    }
    void this.#refusals?.tell(register.refusals, now);
    const { serviceCaAuthority } = this.#options;
    const services = this.#compat?.services;
    if (services !== undefined && !register.catalogue.authorities.has(serviceCaAuthority ?? ''))
      void this.#serviceErrors?.tell(
        services.all(),
        new Map(services.all().map((one) => [leafIdOf(one), `there is no Authority ${serviceCaAuthority}`])),
        now,
      );
    return NOTHING;
  }

  async #pass(home: KubeHome, { kind, id }: { readonly kind: string; readonly id: string }): Promise<Passed> {
    const register = await home.register();
    const { catalogue } = register;
    const cached = throughCache(home, home.cached);
    const resync = after(home.clock.now(), this.#resync * (0.67 + Math.random() * 0.66));
    if (kind === 'TrustBundle') {
      const bundle = catalogue.trustBundles.find(({ metadata }) => metadata.name === id);
      if (bundle === undefined) return NOTHING;
      if (isSynthetic(bundle)) {
        await this.#compat?.keep(bundle, home, catalogue);
        this.#drifts.bundleRests(workKey(kind, id), register, id);
        return { again: resync };
      }
      try {
        await reconcileStaticBundle(cached, catalogue, bundle);
      } finally {
        await this.#tellBundles(home, register);
      }
      return { again: resync };
    }
    if (kind === 'TLSProfile') {
      const profile = catalogue.tlsProfiles.find(
        ({ metadata }) => `${metadata.namespace}/${metadata.name}` === id,
      );
      if (profile === undefined) return NOTHING;
      const again = await this.#keepProfile(home, cached, id, profile);
      return { ...again, again: instant(Math.min(again.again ?? resync, resync)) };
    }
    if (kind === PLATFORM)
      return { again: await this.#platform.keep(cached, toldOfPlatform(catalogue), resync) };
    if (!catalogue.authorities.has(id)) return NOTHING;
    this.#lookForOneself(home);
    const outcome = await reconcile(home, catalogue, id);
    if (outcome.plan.phase === 'Stable') this.#moving.delete(`Authority ${id}`);
    else this.#moving.add(`Authority ${id}`);
    this.#nudgeInherited(home, id, outcome);
    if (isAtRest(outcome.plan))
      this.#drifts.authorityRests(workKey('Authority', id), register, outcome.sight);
    else this.#drifts.moves(workKey('Authority', id));
    await this.#tell(home, register, id, outcome);
    const wishes = [
      outcome.again ?? resync,
      resync,
      home.shelf.obstacles.nextTry(home.clock.now()) ?? resync,
    ];
    // Pods and workloads tell by events when they change; only who is asked has to be asked again.
    const asked = outcome.sight.seen.consumers.some(({ instances }) =>
      instances.some(({ proofs }) => proofs.length > 0),
    );
    if (asked && outcome.plan.blockedBy.length > 0) wishes.push(after(home.clock.now(), ASK_AGAIN_MS));
    return { again: instant(Math.min(...wishes)), acted: outcome.plan.actions.length > 0 };
  }

  /** Whoever led before may have died between a write and its nudges: without them a kubelet takes a minute or more. */
  #nudgeInherited(home: KubeHome, id: string, { plan: { phase, blockedBy }, sight }: Outcome): void {
    if (!this.#looked.has(id) && phase !== 'Stable') this.#inherited.add(id);
    this.#looked.add(id);
    if (blockedBy.length > 0 && this.#inherited.delete(id)) home.nudge(sight.stored);
  }

  async #keepProfile(home: KubeHome, cached: Home, id: string, profile: TlsProfile): Promise<Passed> {
    const key = workKey('TLSProfile', id);
    const outcome = await reconcileProfile(cached, profile);
    const { actions, waiting, wakeAt } = outcome.plan;
    const acted = actions.length > 0;
    if (acted) this.#options.on({ kind: 'profiled', profile: id, actions });
    if (acted || waiting.length > 0) this.#moving.add(key);
    else this.#moving.delete(key);
    const declared = home.declared('TLSProfile', id);
    if (declared !== undefined)
      this.#statuses?.put(declared, statusOfProfile(declared, outcome, home.clock.now()));
    return { again: acted ? home.clock.now() : wakeAt, acted };
  }

  /** Single bundles under work that was at rest; whatever goes wrong, the work itself finds and tells. */
  async #putRight(home: KubeHome, work: string): Promise<undefined> {
    let right = false;
    try {
      right = await this.#rightAlone(home, work, await home.register());
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
    } finally {
      this.#queue?.add(work, right ? after(home.clock.now(), AFTER_DRIFT_MS) : home.clock.now());
    }
    return undefined;
  }

  async #rightAlone(home: KubeHome, work: string, register: Register): Promise<boolean> {
    const drift = this.#drifts.take(work, register);
    if (drift === undefined) return false;
    if (drift.sight !== undefined) return repair(home, drift.sight, drift.objects);
    const bundle = register.catalogue.trustBundles.find(
      ({ metadata }) => workKey('TrustBundle', metadata.name) === work,
    );
    if (bundle === undefined || this.#compat === undefined) return false;
    await this.#compat.keep(bundle, home, register.catalogue, drift.objects);
    return true;
  }

  /** A watch that has died unnoticed must not hide a drift: what can be named is asked for at each resync. */
  #lookForOneself(home: KubeHome): void {
    const now = home.clock.now();
    if (now < this.#lookDue) return;
    this.#lookDue = now + this.#resync * 0.6;
    home.doubtWhatIsNamed();
  }

  async #tell(home: KubeHome, register: Register, id: string, outcome: Outcome): Promise<void> {
    const { on } = this.#options;
    const { sight, plan } = outcome;
    this.#telling?.pass(register, id, outcome);
    if (plan.actions.length > 0) on({ kind: 'acted', authority: id, actions: plan.actions, plan, sight });
    else on({ kind: 'rested', authority: id, plan, vitals: vitalsOf(sight, plan), sight });
    const obstacles = obstaclesIn(sight);
    const before = this.#obstacles.get(id) ?? [];
    if (obstacles.join() !== before.join()) on({ kind: 'obstructed', authority: id, obstacles });
    this.#obstacles.set(id, obstacles);
    await this.#seen?.put(id, sight.seen.consumers, sight.now);
    const declared = find(register, 'Authority', id);
    // After a write the next pass, which follows at once, sees how things are.
    if (declared === undefined || plan.actions.length > 0) return;
    this.#statuses?.put(declared, statusOfAuthority(declared, sight, plan));
    for (const [leaf, status] of statusOfLeaves(register, sight)) this.#statuses?.put(leaf, status);
    const services = this.#compat?.services;
    if (services !== undefined && id === this.#options.serviceCaAuthority)
      await this.#serviceErrors?.tell(services.all(), errorsOf(register, sight), home.clock.now());
    await this.#tellBundles(home, register);
  }

  async #tellBundles(home: KubeHome, register: Register): Promise<void> {
    for (const bundle of register.catalogue.trustBundles) {
      const declared = find(register, 'TrustBundle', bundle.metadata.name);
      if (declared === undefined) continue;
      const status = await statusOfBundle(home, register, declared, bundle);
      this.#statuses?.put(declared, status);
      this.#telling?.bundle(declared, status);
    }
  }
}

/** Why nobody will ever take care of a Leaf. */
const orphanhood = ({ catalogue }: Register, { resource }: Declared): string | undefined => {
  if (resource?.kind !== 'Leaf') return undefined;
  const id = authorityRef(resource.spec.authority, resource.metadata.namespace);
  return catalogue.authorities.has(id)
    ? undefined
    : `spec.authority: there is no Authority ${id}; make it, or name another`;
};

const isConflict = (error: unknown): boolean => error instanceof HandoverError && error.code === 'CONFLICT';

const NEVER = { term: undefined };

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
