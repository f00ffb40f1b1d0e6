import type { TrustBundle } from '@handover/core';
import {
  type AuthorityOutcome,
  Controller,
  eventsOf,
  idOf,
  isAtRest,
  keyText,
  type Listener,
  RESOURCES,
  type ResourceKey,
  type Result,
  reconcile,
  reconcileProfile,
  reconcileStaticBundle,
  repair,
  type Snapshot,
  toldOfPlatform,
} from '@handover/engine';
import type { Kube } from '@handover/kube';
import { after, HandoverError, type Instant, instant } from '@handover/material';
import type { CertManagerCluster } from '../cert-manager/cluster.ts';
import { RequestSigner } from '../cert-manager/requests.ts';
import type { Compatibility } from '../compat/compatibility.ts';
import { BundleReconciler } from '../compat/trust-manager/bundle-reconciler.ts';
import type { KubeHome } from '../home/home.ts';
import { PodSigning } from '../pod-certificates/signer.ts';
import type { WatchedRequests } from '../pod-certificates/watched.ts';
import { isSynthetic } from '../resources/injections.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { askAgainAt } from './ask-again.ts';
import { Drifts } from './drifts.ts';
import type { EventRouter } from './event-router.ts';
import type { OperatorOptions } from './operator-options.ts';
import { PlatformReconciler } from './platform.ts';
import { Reports } from './reports.ts';

export interface LeaderSessionOptions {
  readonly operator: OperatorOptions;
  readonly home: KubeHome;
  /** Writes for as long as this replica leads. */
  readonly kube: Kube;
  readonly compat: Compatibility | undefined;
  readonly podRequests: WatchedRequests | undefined;
  readonly certManager: CertManagerCluster | undefined;
  readonly router: EventRouter;
  readonly on: Listener;
}

const RESYNC_MS = 30_000;
/** How long after a drift was put right everything is looked at. */
const AFTER_DRIFT_MS = 1_000;

/** Passes at once, and those of one namespace: each may wait for its own consumers for seconds. */
const PLACES = { inAll: 16, each: 2 } as const;

const NOTHING: Result = { requeueAt: undefined };

/** From the Lease gained to the Lease lost: the work, and what is remembered only while this replica leads. */
export class LeaderSession {
  readonly reports: Reports;
  readonly controller: Controller;
  readonly drifts = new Drifts();
  /** Work with a step under way. */
  readonly moving = new Map<string, ResourceKey>();
  readonly #options: LeaderSessionOptions;
  readonly #resync: number;
  readonly #platform: PlatformReconciler;
  readonly #podSigning: PodSigning | undefined;
  readonly #signer: RequestSigner;
  readonly #over = new AbortController();
  /** Authorities looked at in this term; and those whose pods may not have been told of a write. */
  readonly #looked = new Set<string>();
  readonly #untold = new Set<string>();
  #lookDue = 0;

  constructor(options: LeaderSessionOptions) {
    this.#options = options;
    const { operator, home, on } = options;
    const { signal } = this.#over;
    this.#resync = operator.resync ?? RESYNC_MS;
    const onError = (what: string, error: unknown): void =>
      on({ kind: 'failed', what, error, retryAt: undefined });
    this.reports = new Reports({ ...options, signal, onError });
    this.#platform = new PlatformReconciler(operator.kube, signal, onError);
    const { kube, podRequests: watched } = options;
    const tell = this.reports.podCertificate;
    this.#podSigning =
      watched === undefined ? undefined : new PodSigning({ kube, home, watched, signal, tell });
    this.#signer = new RequestSigner({ kube: options.kube, home, signal });
    this.controller = new Controller({
      clock: home.clock,
      timers: kube.clock,
      on,
      meters: operator.meters,
      limits: PLACES,
      reconcilers: {
        Resources: () => this.#readResources(),
        Authority: ({ id }) => this.#reconcileAuthority(id),
        TrustBundle: ({ id }) => this.#reconcileBundle(id),
        TLSProfile: ({ id }) => this.#reconcileProfile(id),
        Platform: () => this.#reconcilePlatform(),
        CertificateRequest: ({ id }) => this.#reconcileRequest(id),
        Drift: ({ of }) => this.#repairDrift(of),
        PodCertificate: async ({ id }) => this.#podSigning?.reconcile(id) ?? NOTHING,
      },
    });
  }

  /** Ends with the signal, when the last work under way has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const end = (): void => this.#over.abort();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    this.controller.add([RESOURCES]);
    const { certManager, router } = this.#options;
    for (const request of certManager?.requests ?? []) router.requestChanged(request);
    await Promise.all([
      this.controller.run(signal).finally(() => this.reports.stop()),
      this.#runForeignBundles(signal),
    ]);
  }

  /** They have a queue of their own: they belong to no Authority. */
  async #runForeignBundles(signal: AbortSignal): Promise<void> {
    const { compat, home, kube, on } = this.#options;
    if (compat?.bundles === undefined) return;
    const now = () => home.clock.now();
    await new BundleReconciler({ followed: compat.bundles, kube, now, on }).run(signal);
  }

  async #readResources(): Promise<Result> {
    const { router, home } = this.#options;
    const { resolved, before, isAffected, waitOf } = await router.reindex(home);
    if (before !== undefined) this.drifts.resourcesRead(before, resolved, isAffected);
    for (const key of this.controller.setDesiredKeys(router.keys ?? [], waitOf))
      if (key.kind === 'Authority' || key.kind === 'TLSProfile') this.reports.forget(key);
    this.reports.resources(resolved);
    const open = this.#options.podRequests?.open() ?? [];
    this.controller.add(open.map((id) => ({ kind: 'PodCertificate', id }) as const));
    return NOTHING;
  }

  /** What every pass begins with. */
  async #begin(): Promise<{
    readonly resolved: ResolvedResources;
    readonly cached: Snapshot;
    readonly resync: Instant;
  }> {
    const { home } = this.#options;
    const resolved = await home.resolved();
    this.reports.knows(resolved);
    const resync = after(home.clock.now(), this.#resync * (0.67 + Math.random() * 0.66));
    return { resolved, cached: await home.cached(), resync };
  }

  async #reconcileAuthority(id: string): Promise<Result> {
    const { home, on } = this.#options;
    const { resolved, resync } = await this.#begin();
    if (!resolved.catalogue.authorities.has(id)) {
      // A pass that was under way while the authority went has told of it once more.
      this.reports.forget({ kind: 'Authority', id });
      return NOTHING;
    }
    this.#lookDirectly();
    const outcome = await reconcile(home, id).catch((error: unknown) => {
      // A write may have landed though its answer was lost.
      this.#untold.add(id);
      this.reports.failed(resolved, 'Authority', id, error);
      throw error;
    });
    const { plan, observation } = outcome;
    this.#moves({ kind: 'Authority', id }, plan.phase !== 'Stable');
    this.#tellPods(id, outcome);
    if (isAtRest(plan)) this.drifts.markStable(id, resolved, observation);
    else this.drifts.markMoving(id);
    for (const event of eventsOf(outcome)) on(event);
    await this.reports.authority(resolved, id, outcome);
    const times = [
      outcome.requeueAt ?? resync,
      resync,
      home.store.obstacles.nextTry(home.clock.now()) ?? resync,
    ];
    times.push(askAgainAt(plan, observation.seen.consumers, home.clock.now()) ?? resync);
    return { requeueAt: instant(Math.min(...times)), acted: plan.actions.length > 0 };
  }

  /** The last leader may have died between a write and its nudges: without them a kubelet takes a minute or more. */
  #tellPods(id: string, { plan: { phase, blockedBy }, observation }: AuthorityOutcome): void {
    if (!this.#looked.has(id) && phase !== 'Stable') this.#untold.add(id);
    this.#looked.add(id);
    if (blockedBy.length > 0 && this.#untold.delete(id)) this.#options.home.nudge(observation.stored);
  }

  async #reconcileBundle(id: string): Promise<Result> {
    const { resolved, cached, resync } = await this.#begin();
    const bundle = bundleIn(resolved, id);
    if (bundle === undefined) return NOTHING;
    if (isSynthetic(bundle)) {
      await this.#options.compat?.reconcile(bundle, this.#options.home, resolved.catalogue);
      this.drifts.markBundleStable(id, resolved);
      return { requeueAt: resync };
    }
    await reconcileStaticBundle(this.#options.home, cached, bundle).finally(() =>
      this.reports.bundles(resolved),
    );
    return { requeueAt: resync };
  }

  async #reconcileProfile(id: string): Promise<Result> {
    const { home } = this.#options;
    const { resolved, cached, resync } = await this.#begin();
    const profile = resolved.catalogue.tlsProfiles.find((candidate) => idOf(candidate) === id);
    if (profile === undefined) return NOTHING;
    const outcome = await reconcileProfile(home, cached, profile).catch((error: unknown) => {
      this.reports.failed(resolved, 'TLSProfile', id, error);
      throw error;
    });
    const { actions, waiting, wakeAt } = outcome.plan;
    const acted = actions.length > 0;
    this.#moves({ kind: 'TLSProfile', id }, acted || waiting.length > 0);
    if (acted) this.#options.on({ kind: 'profiled', profile: id, actions });
    this.reports.profile(profile, outcome);
    return { requeueAt: instant(Math.min(acted ? home.clock.now() : (wakeAt ?? resync), resync)), acted };
  }

  async #reconcileRequest(id: string): Promise<Result> {
    const { resolved } = await this.#begin();
    return this.#signer.reconcile(id, resolved.catalogue);
  }

  async #reconcilePlatform(): Promise<Result> {
    const { resolved, cached, resync } = await this.#begin();
    return {
      requeueAt: await this.#platform.reconcile(
        this.#options.home,
        cached,
        toldOfPlatform(resolved.catalogue),
        resync,
      ),
    };
  }

  /** Single bundles of a resource at rest. A full reconcile follows and reports what is left. */
  async #repairDrift(of: ResourceKey): Promise<Result> {
    let right = false;
    try {
      right = await this.#tryFastRepair(of);
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
    } finally {
      this.controller.add([of], right ? AFTER_DRIFT_MS : 0);
    }
    return NOTHING;
  }

  async #tryFastRepair(of: ResourceKey): Promise<boolean> {
    const { compat, home } = this.#options;
    const resolved = await home.resolved();
    const drift = this.drifts.take(of, resolved);
    if (drift === undefined) return false;
    if (drift.observation !== undefined) return repair(home, drift.observation, drift.objects);
    const bundle = bundleIn(resolved, of.id);
    if (bundle === undefined || compat === undefined) return false;
    await compat.reconcile(bundle, home, resolved.catalogue, drift.objects);
    return true;
  }

  #moves(key: ResourceKey, moving: boolean): void {
    if (moving) this.moving.set(keyText(key), key);
    else this.moving.delete(keyText(key));
  }

  /** A watch that has died unnoticed must not hide a drift: objects that can be named are asked for at each resync. */
  #lookDirectly(): void {
    const { home } = this.#options;
    const now = home.clock.now();
    if (now < this.#lookDue) return;
    this.#lookDue = now + this.#resync * 0.6;
    home.doubtWhatIsNamed();
  }
}

const bundleIn = ({ catalogue }: ResolvedResources, name: string): TrustBundle | undefined =>
  catalogue.trustBundles.find(({ metadata }) => metadata.name === name);
