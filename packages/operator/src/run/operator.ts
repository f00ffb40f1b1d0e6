import { setMaxListeners } from 'node:events';
import { injectableOf, type Plan, plan } from '@handover/core';
import { type IssuedEntry, idOf, type Observation, observe, throughCache } from '@handover/engine';
import { type LeaderLease, lead } from '@handover/kube';
import type { Compatibility } from '../compat/compatibility.ts';
import type { KubeHome } from '../home/home.ts';
import type { Held } from '../objects/held.ts';
import { trustBundleVersion } from '../objects/kinds.ts';
import { keyOf, type Plural, placeOf } from '../objects/place.ts';
import { decisive, gateOf, type ResolvedResources } from '../resources/resolved-resources.ts';
import type { Pod } from '../workloads/pods.ts';
import { openHome } from './opening.ts';
import type { OperatorOptions } from './operator-options.ts';
import { seenEvidence } from './seen.ts';
import { Term } from './term.ts';
import { RESOURCES, WorkIndex, workKey } from './work.ts';

const DEBOUNCE_MS = 20;
const POD_DEBOUNCE_MS = 200;
/** How long a write that has left may take once we are told to stop. */
const LAST_WRITES_MS = 800;
/** Whoever stops is gone by then, whether or not the lease could be given up. */
const LAST_WORD_MS = 950;
/** Others lead at most 12 s + one look of 1.65 s after a leader's last sign of life: within 15 s even if it dies just after one. */
const LEASE = { duration: 12_000, renewWithin: 8_000, renew: 1_500 } as const;

/** The Kubernetes home, kept for ever by whoever leads. */
export class Operator {
  readonly #options: OperatorOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #home: KubeHome | undefined;
  #lease: LeaderLease | undefined;
  #index: WorkIndex | undefined;
  #compat: Compatibility | undefined;
  #term: Term | undefined;
  /** The last term, which may still be ending. */
  #ended: Promise<void> | undefined;
  /** Ends writes that hang. */
  readonly #writes = new AbortController();
  /** Whether anybody was ever seen to lead. */
  #led = false;
  /** What went wrong last with a watch or the Lease. */
  #worry: string | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
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
      .filter((key) => this.#term?.has(key) !== true)
      .map((key) => `${key} has not been put right yet`);
  }

  get leads(): boolean {
    return this.#term !== undefined;
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
    readonly { readonly authority: string; readonly plan: Plan; readonly observation: Observation }[]
  > {
    const home = this.#home;
    if (home === undefined || !home.synced) return [];
    const { catalogue } = await home.resolved();
    const { kube, namespace } = this.#options;
    const evidence = seenEvidence(kube, namespace, this.#signal);
    const aside = { ...throughCache(home, home.cached), evidence };
    const looks = [];
    for (const authority of catalogue.authorities.keys()) {
      const observation = await observe(aside, catalogue, authority);
      looks.push({
        authority,
        observation,
        plan: plan(observation.seen, observation.responsibilities.policy, observation.now),
      });
    }
    return looks;
  }

  get home(): KubeHome | undefined {
    return this.#home;
  }

  get resolved(): Promise<ResolvedResources> | undefined {
    return this.#home?.resolved();
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
    const { home, compat } = openHome({
      operator: this.#options,
      kube: kube.fenced(lease),
      swift: (this.#options.swift ?? kube).fenced(lease),
      trustBundleVersion: version,
      listener: this.#listener,
      signal: this.#signal,
      writeSignal: this.#writes.signal,
    });
    this.#home = home;
    this.#compat = compat;
    lease.on('lost', () => this.#end());
    try {
      await Promise.race([compat?.ready, released]);
      await Promise.race([home.ready(), released]);
    } catch (error) {
      // Watches that are told to stop say so.
      if (!this.#signal.aborted) throw error;
    }
    if (!this.#signal.aborted) {
      await this.#reindex(home);
      this.#options.onSeen?.();
      lease.on('gained', () => this.#begin(home, lease));
      if (lease.held) this.#begin(home, lease);
    }
    await released;
    await this.#ended;
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

  readonly #listener = {
    resourcesChanged: (): void => this.#resourcesChanged(),
    objectChanged: (plural: Plural, key: string, before: Held | undefined, now: Held | undefined): void => {
      this.#options.onSeen?.();
      this.#home?.ownWrites.unlessOurs(plural, key, now?.version, () =>
        this.#term?.changed(this.#index?.of(plural, key) ?? [], plural, key),
      );
      // What there is to inject may have changed with it.
      const gate = this.#index?.gate(plural, key);
      const changed =
        injectableOf(plural) !== undefined
          ? decisive(before) !== decisive(now)
          : gate !== undefined && gateOf(before, gate) !== gateOf(now, gate);
      if (changed) this.#resourcesChanged();
    },
    stateChanged: (authority: string): void => this.#term?.add(this.#index?.ofState(authority) ?? []),
    /** A pod that comes, goes, or becomes ready may be what a step waits for. */
    podChanged: (before: Pod | undefined, now: Pod | undefined): void => {
      const { namespace, references } = now ?? before ?? { namespace: '', references: [] };
      const work = references.flatMap(({ plural, name }) => [
        ...(this.#index?.of(plural, plural === 'clustertrustbundles' ? name : `${namespace}/${name}`) ?? []),
      ]);
      this.#term?.addMoving(work, POD_DEBOUNCE_MS);
    },
    workloadChanged: (): void => this.#term?.addMoving(undefined, POD_DEBOUNCE_MS),
    platformProfileChanged: (): void => void this.#platformProfileChanged(),
    repaired: (object: string, manager: string): void => {
      this.#options.on({ kind: 'repaired', object, manager });
      const place = placeOf(object);
      const keepers = this.#index?.of(place.plural, keyOf(place)) ?? [];
      void this.#home
        ?.resolved()
        .then((resolved) => this.#term?.reports.repaired(resolved, keepers, object, manager));
    },
    issued: (entry: IssuedEntry): void => {
      this.#options.on({ kind: 'issued', entry });
      void this.#home?.resolved().then(
        (resolved) => this.#term?.reports.issued(resolved, entry),
        () => {}, // an Event less; the pass that reads the same resources says why
      );
    },
    trouble: (what: string, error: unknown): void => this.#trouble(what, error),
  };

  async #platformProfileChanged(): Promise<void> {
    const resolved = await this.#home?.resolved().catch(() => undefined);
    const profiles = resolved?.catalogue.tlsProfiles.filter(({ spec }) => spec.type === 'OpenShift') ?? [];
    this.#term?.add(profiles.map((profile) => workKey('TLSProfile', idOf(profile))));
  }

  #resourcesChanged(): void {
    const home = this.#home;
    if (home === undefined) return;
    home.forget();
    if (this.#term !== undefined) this.#term.add([RESOURCES], DEBOUNCE_MS);
    else if (this.#index !== undefined) void this.#reindex(home).catch(() => {});
  }

  async #reindex(
    home: KubeHome,
  ): Promise<{ readonly resolved: ResolvedResources; readonly index: WorkIndex }> {
    const resolved = await home.resolved();
    const index = new WorkIndex(
      resolved,
      this.#options.trustNamespace ?? this.#options.namespace,
      // Who hands resources over has given rights to those objects and no others.
      this.#options.declarations === undefined,
    );
    this.#index = index;
    return { resolved, index };
  }

  #begin(home: KubeHome, lease: LeaderLease): void {
    if (this.#term !== undefined) return;
    this.#led = true;
    this.#term = new Term({
      operator: this.#options,
      home,
      kube: this.#options.kube.fenced(lease),
      compat: this.#compat,
      reindex: () => this.#reindex(home),
      signal: this.#signal,
    });
    this.#ended = this.#term.ended;
    this.#options.on({ kind: 'leading', held: true });
  }

  #end(): void {
    if (this.#term === undefined) return;
    this.#term.end();
    this.#term = undefined;
    this.#options.on({ kind: 'leading', held: false });
  }
}

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
