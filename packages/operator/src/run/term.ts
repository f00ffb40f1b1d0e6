import type { TlsProfile, TrustBundle } from '@handover/core';
import {
  isAtRest,
  isConflict,
  type Look,
  type Outcome,
  reconcile,
  reconcileProfile,
  reconcileStaticBundle,
  repair,
  toldOfPlatform,
  WorkQueue,
} from '@handover/engine';
import type { Kube } from '@handover/kube';
import { after, HandoverError, type Instant, instant } from '@handover/material';
import type { Compatibility } from '../compat/compatibility.ts';
import type { KubeHome } from '../home/home.ts';
import type { Plural } from '../objects/place.ts';
import { isSynthetic } from '../resources/injections.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { Drifts } from './drifts.ts';
import type { OperatorOptions } from './operator-options.ts';
import { PlatformKeeper } from './platform.ts';
import { Reports } from './reports.ts';
import { driftKey, laneOf, PLATFORM, RESOURCES, shareOf, type WorkIndex, workKey, workOf } from './work.ts';

export interface TermOptions {
  readonly operator: OperatorOptions;
  readonly home: KubeHome;
  /** Writes for as long as we lead. */
  readonly kube: Kube;
  readonly compat: Compatibility | undefined;
  /** Reads the resources anew. */
  readonly reindex: () => Promise<{ readonly resolved: ResolvedResources; readonly index: WorkIndex }>;
  readonly signal: AbortSignal;
}

const RESYNC_MS = 30_000;
/** How often is looked again while somebody is waited for. */
const ASK_AGAIN_MS = 1_000;
/** How long after a drift was put right everything is looked at. */
const AFTER_DRIFT_MS = 1_000;
/** Lost races in a row on the same work that are tried again at once. */
const MOST_RACES = 5;

/** Passes at once, and those of one namespace: each may wait for its own consumers for seconds. */
const PLACES = { inAll: 16, each: 2 } as const;

/** What came of one piece of work. */
interface Passed {
  readonly again: Instant | undefined;
  /** Whether something was done, after which there may be more to do. */
  readonly acted?: boolean;
}
const NOTHING: Passed = { again: undefined };

/** From the Lease gained to the Lease lost: the work, and what is remembered only while one leads. */
export class Term {
  readonly reports: Reports;
  readonly #options: TermOptions;
  readonly #home: KubeHome;
  readonly #resync: number;
  readonly #over = new AbortController();
  readonly #queue: WorkQueue;
  readonly #platform: PlatformKeeper;
  readonly #drifts = new Drifts();
  /** Work with a step under way. */
  readonly #moving = new Set<string>();
  readonly #done = new Set<string>();
  /** Authorities looked at in this term; and those of whose writes their pods may not have been told. */
  readonly #looked = new Set<string>();
  readonly #untold = new Set<string>();
  readonly #races = new Map<string, number>();
  #keys: readonly string[] = [];
  #lookDue = 0;
  /** Ends when the last work under way has ended. */
  readonly ended: Promise<void>;

  constructor(options: TermOptions) {
    this.#options = options;
    const { operator, home, kube, compat } = options;
    this.#home = home;
    this.#resync = operator.resync ?? RESYNC_MS;
    const signal = AbortSignal.any([options.signal, this.#over.signal]);
    this.reports = new Reports({ operator, home, kube, compat, signal });
    this.#platform = new PlatformKeeper(operator.kube, signal, (what, error) =>
      operator.on({ kind: 'failed', what, error, retryAt: undefined }),
    );
    const queue = new WorkQueue({
      now: () => home.clock.now(),
      random: Math.random,
      onError: (what, error, retryAt) => operator.on({ kind: 'failed', what, error, retryAt }),
      work: (key) => this.#work(key),
      laneOf,
      shareOf,
      places: PLACES,
    });
    this.#queue = queue;
    operator.meters?.queue(() => ({ due: queue.due, planned: queue.size }));
    queue.add(RESOURCES);
    this.ended = queue.run(signal).finally(() => this.reports.stop());
  }

  end(): void {
    this.#over.abort();
  }

  add(keys: Iterable<string>, wait = 0): void {
    const at = after(this.#home.clock.now(), wait);
    for (const key of keys) this.#queue.add(key, at);
  }

  /** The same for those of them that have a step under way; undefined: all that have. */
  addMoving(keys: Iterable<string> | undefined, wait: number): void {
    this.add(
      [...(keys ?? this.#moving)].filter((key) => this.#moving.has(key)),
      wait,
    );
  }

  /** An object changed that is the business of `works`. */
  changed(works: Iterable<string>, plural: Plural, key: string): void {
    this.add([...works].map((work) => (this.#drifts.note(work, plural, key) ? driftKey(work) : work)));
  }

  has(key: string): boolean {
    return this.#done.has(key);
  }

  async #work(key: string): Promise<Instant | undefined> {
    const work = workOf(key);
    try {
      if (work.kind === 'Drift') return await this.#putRight(work.id);
      const { again, acted = false } =
        work.kind === 'resources' ? await this.#readResources() : await this.#pass(work);
      this.#races.delete(key);
      // A pass takes one step: only one that found nothing left to do has put everything right.
      if (work.kind !== 'resources' && !acted) this.#done.add(key);
      return again;
    } catch (error) {
      // A write may have landed though nobody heard that it did.
      if (work.kind === 'Authority') this.#untold.add(work.id);
      const races = (this.#races.get(key) ?? 0) + 1;
      // Somebody else was faster: no failure, look again.
      if (isConflict(error) && races <= MOST_RACES) {
        this.#races.set(key, races);
        return this.#home.clock.now();
      }
      this.#races.delete(key);
      throw error;
    }
  }

  async #readResources(): Promise<Passed> {
    const { resolved, index } = await this.#options.reindex();
    const wanted = new Set(index.keys);
    for (const gone of this.#keys) {
      if (wanted.has(gone)) continue;
      this.#queue.drop(gone);
      this.reports.forget(gone.replace(/^Authority /, ''));
    }
    this.#keys = index.keys;
    this.add(wanted);
    this.reports.resources(resolved);
    return NOTHING;
  }

  async #pass({ kind, id }: { readonly kind: string; readonly id: string }): Promise<Passed> {
    const home = this.#home;
    const resolved = await home.resolved();
    const { catalogue } = resolved;
    const cached = await home.cached();
    const resync = after(home.clock.now(), this.#resync * (0.67 + Math.random() * 0.66));
    if (kind === 'TrustBundle') {
      const bundle = catalogue.trustBundles.find(({ metadata }) => metadata.name === id);
      return bundle === undefined ? NOTHING : this.#keepBundle(cached, resolved, bundle, resync);
    }
    if (kind === 'TLSProfile') {
      const profile = catalogue.tlsProfiles.find(
        ({ metadata }) => `${metadata.namespace}/${metadata.name}` === id,
      );
      return profile === undefined ? NOTHING : this.#keepProfile(cached, id, profile, resync);
    }
    if (kind === PLATFORM)
      return { again: await this.#platform.keep(home, cached, toldOfPlatform(catalogue), resync) };
    if (catalogue.authorities.has(id)) return this.#keepAuthority(resolved, id, resync);
    // A pass that was under way while it went has told of it once more.
    this.reports.forget(id);
    return NOTHING;
  }

  async #keepAuthority(resolved: ResolvedResources, id: string, resync: Instant): Promise<Passed> {
    const home = this.#home;
    const work = workKey('Authority', id);
    this.#lookForOneself();
    const outcome = await reconcile(home, id).catch((error: unknown) => {
      this.reports.refused(resolved, id, error);
      throw error;
    });
    const { plan, observation } = outcome;
    this.#moves(work, plan.phase !== 'Stable');
    this.#tellPods(id, outcome);
    if (isAtRest(plan)) this.#drifts.authorityRests(work, resolved, observation);
    else this.#drifts.moves(work);
    await this.reports.authority(resolved, id, outcome);
    const wishes = [
      outcome.again ?? resync,
      resync,
      home.store.obstacles.nextTry(home.clock.now()) ?? resync,
    ];
    // Pods and workloads tell by events when they change; only who is asked has to be asked again.
    const asked = observation.seen.consumers.some(({ instances }) =>
      instances.some(({ proofs }) => proofs.length > 0),
    );
    if (asked && plan.blockedBy.length > 0) wishes.push(after(home.clock.now(), ASK_AGAIN_MS));
    return { again: instant(Math.min(...wishes)), acted: plan.actions.length > 0 };
  }

  /** Whoever led before may have died between a write and its nudges: without them a kubelet takes a minute or more. */
  #tellPods(id: string, { plan: { phase, blockedBy }, observation }: Outcome): void {
    if (!this.#looked.has(id) && phase !== 'Stable') this.#untold.add(id);
    this.#looked.add(id);
    if (blockedBy.length > 0 && this.#untold.delete(id)) this.#home.nudge(observation.stored);
  }

  async #keepBundle(
    cached: Look,
    resolved: ResolvedResources,
    bundle: TrustBundle,
    again: Instant,
  ): Promise<Passed> {
    const { name } = bundle.metadata;
    if (isSynthetic(bundle)) {
      await this.#options.compat?.keep(bundle, this.#home, resolved.catalogue);
      this.#drifts.bundleRests(workKey('TrustBundle', name), resolved, name);
      return { again };
    }
    try {
      await reconcileStaticBundle(this.#home, cached, bundle);
    } finally {
      await this.reports.bundles(resolved);
    }
    return { again };
  }

  async #keepProfile(cached: Look, id: string, profile: TlsProfile, resync: Instant): Promise<Passed> {
    const outcome = await reconcileProfile(this.#home, cached, profile);
    const { actions, waiting, wakeAt } = outcome.plan;
    const acted = actions.length > 0;
    this.#moves(workKey('TLSProfile', id), acted || waiting.length > 0);
    this.reports.profile(id, outcome);
    const again = acted ? this.#home.clock.now() : (wakeAt ?? resync);
    return { again: instant(Math.min(again, resync)), acted };
  }

  #moves(work: string, moving: boolean): void {
    if (moving) this.#moving.add(work);
    else this.#moving.delete(work);
  }

  /** Single bundles under work that was at rest; whatever goes wrong, the work itself finds and tells. */
  async #putRight(work: string): Promise<undefined> {
    let right = false;
    try {
      right = await this.#rightAlone(work, await this.#home.resolved());
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
    } finally {
      this.add([work], right ? AFTER_DRIFT_MS : 0);
    }
    return undefined;
  }

  async #rightAlone(work: string, resolved: ResolvedResources): Promise<boolean> {
    const { compat } = this.#options;
    const drift = this.#drifts.take(work, resolved);
    if (drift === undefined) return false;
    if (drift.observation !== undefined) return repair(this.#home, drift.observation, drift.objects);
    const bundle = resolved.catalogue.trustBundles.find(
      ({ metadata }) => workKey('TrustBundle', metadata.name) === work,
    );
    if (bundle === undefined || compat === undefined) return false;
    await compat.keep(bundle, this.#home, resolved.catalogue, drift.objects);
    return true;
  }

  /** A watch that has died unnoticed must not hide a drift: what can be named is asked for at each resync. */
  #lookForOneself(): void {
    const now = this.#home.clock.now();
    if (now < this.#lookDue) return;
    this.#lookDue = now + this.#resync * 0.6;
    this.#home.doubtWhatIsNamed();
  }
}
