import { setMaxListeners } from 'node:events';
import { type Plan, plan } from '@handover/core';
import { type ControllerEvent, keyText, type Observation, observeWithRetry, survey } from '@handover/engine';
import { type LeaderLease, lead } from '@handover/kube';
import type { CertManagerCluster } from '../cert-manager/cluster.ts';
import type { Compatibility } from '../compat/compatibility.ts';
import type { KubeHome } from '../home/home.ts';
import { trustBundleVersion } from '../objects/kinds.ts';
import type { WatchedRequests } from '../pod-certificates/watched.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { EventRouter } from './event-router.ts';
import { recordedEvidence } from './evidence-configmap.ts';
import { LeaderSession } from './leader-session.ts';
import { openKubeHome } from './opening.ts';
import type { OperatorOptions } from './operator-options.ts';

/** How long a write that has left may take after the signal to stop. */
const LAST_WRITES_MS = 800;
/** The process has stopped by then, whether or not the Lease could be given up. */
const LAST_WORD_MS = 950;
/** Others lead at most 12 s + one look of 1.65 s after a leader's last sign of life: within 15 s even if it dies just after one. */
const LEASE = { duration: 12_000, renewWithin: 8_000, renew: 1_500 } as const;

/** The Kubernetes home, kept by the replica that leads. */
export class Operator {
  readonly #options: OperatorOptions;
  readonly #router: EventRouter;
  #signal: AbortSignal = AbortSignal.abort();
  #home: KubeHome | undefined;
  #lease: LeaderLease | undefined;
  #compat: Compatibility | undefined;
  #podRequests: WatchedRequests | undefined;
  #certManager: CertManagerCluster | undefined;
  /** Ends the term while this replica leads. */
  #over: AbortController | undefined;
  /** The last term, which may still be ending. */
  #ended: Promise<void> | undefined;
  /** Ends writes that hang. */
  readonly #writes = new AbortController();
  /** Whether this replica has ever led. */
  #led = false;
  /** What went wrong last with a watch or the Lease. */
  #worry: string | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#router = new EventRouter(options);
  }

  /** What stands between now and ready, in words. */
  waitingFor(): readonly string[] {
    const worry = this.#worry === undefined ? '' : `: ${this.#worry}`;
    if (this.#home === undefined) return [`the API server has not answered yet${worry}`];
    const { keys, session } = this.#router;
    if (!this.#home.synced || keys === undefined) return [`the caches are not synced yet${worry}`];
    if (this.#lease?.held !== true) {
      const another = this.#lease?.holder !== undefined && this.#lease.holder !== this.#options.identity;
      return this.#led || another ? [] : [`no replica leads yet${worry}`];
    }
    return keys
      .filter((key) => session?.controller.hasDone(key) !== true)
      .map((key) => `${keyText(key)} is not reconciled yet`);
  }

  get leads(): boolean {
    return this.#router.session !== undefined;
  }

  /** Identity of the replica that leads, as far as it is known here. */
  get leader(): string | undefined {
    return this.#lease?.holder;
  }

  /**
   * How every authority stands, for a replica that does not lead: from its watches, and from what the leader last wrote down
   * about consumers. Nothing is probed, nothing is written.
   */
  async lookAside(): Promise<
    readonly { readonly authority: string; readonly plan: Plan; readonly observation: Observation }[]
  > {
    const home = this.#home;
    if (home === undefined || !home.synced) return [];
    const { catalogue } = await home.resolved();
    const { kube, namespace } = this.#options;
    const evidence = recordedEvidence(kube, namespace, this.#signal);
    const look = async () => ({ ...(await home.cached()), evidence });
    const { found } = await survey({ catalogue }, undefined, async (authority) => {
      const observation = await observeWithRetry(look, authority);
      const { seen, responsibilities, now } = observation;
      return { authority, observation, plan: plan(seen, responsibilities.policy, now) };
    });
    return found;
  }

  get home(): KubeHome | undefined {
    return this.#home;
  }

  get resolved(): Promise<ResolvedResources> | undefined {
    return this.#home?.resolved();
  }

  async run(until: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([until]);
    this.#signal = signal;
    // Every watch listens to it.
    setMaxListeners(0, signal);
    const { kube, namespace, identity } = this.#options;
    this.#tell({ kind: 'started', identity });
    const version = await this.#trustBundleVersion();
    if (signal.aborted) return;
    const name = this.#options.leaseName ?? 'handover';
    const lease = lead(kube, { namespace, name, identity, ...LEASE });
    this.#lease = lease;
    lease.on('trouble', (error) => this.#trouble(`Lease ${namespace}/${name}`, error));
    const released = this.#releaseAtEnd(lease);
    const { home, compat, certManager, podRequests, ready } = openKubeHome({
      operator: this.#options,
      kube: kube.fenced(lease),
      caBundleClient: (this.#options.caBundleClient ?? kube).fenced(lease),
      trustBundleVersion: version,
      router: this.#router,
      on: this.#tell,
      onTrouble: (what, error) => this.#trouble(what, error),
      signal,
      writeSignal: this.#writes.signal,
    });
    this.#home = home;
    this.#compat = compat;
    this.#podRequests = podRequests;
    this.#certManager = certManager;
    this.#router.follow(home);
    lease.on('lost', () => this.#end());
    try {
      await Promise.race([ready, released]);
    } catch (error) {
      // Watches that are told to stop reject.
      if (!signal.aborted) throw error;
    }
    if (!signal.aborted) {
      await this.#router.reindex(home);
      this.#options.onSeen?.();
      lease.on('gained', () => this.#begin(home, lease));
      if (lease.held) this.#begin(home, lease);
    }
    await released;
    await this.#ended;
  }

  /** After the signal no new write begins; writes under way have a moment to end; then the Lease is given up. */
  async #releaseAtEnd(lease: LeaderLease): Promise<void> {
    const { clock } = this.#options.kube;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clock.after(LAST_WRITES_MS, () => this.#writes.abort()).unref();
        clock.after(LAST_WORD_MS, resolve).unref();
        void lease.release().then(resolve);
      };
      if (this.#signal.aborted) end();
      else this.#signal.addEventListener('abort', end, { once: true });
    });
  }

  /** The one place that tells: the caller's listeners, and the leader's Kubernetes Events. */
  readonly #tell = (event: ControllerEvent): void => {
    this.#options.on(event);
    this.#router.session?.reports.heard(event);
  };

  /** Trouble that ends by itself. It is told, and shown while this replica is not ready. */
  #trouble(what: string, error: unknown): void {
    if (this.#signal.aborted) return;
    this.#worry = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    this.#tell({ kind: 'failed', what, error, retryAt: undefined });
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
        await kube.clock.sleep(wait * (0.5 + Math.random() / 2), this.#signal);
      }
    }
    return undefined;
  }

  #begin(home: KubeHome, lease: LeaderLease): void {
    if (this.#over !== undefined) return;
    this.#led = true;
    const over = new AbortController();
    this.#over = over;
    const session = new LeaderSession({
      operator: this.#options,
      home,
      kube: this.#options.kube.fenced(lease),
      compat: this.#compat,
      podRequests: this.#podRequests,
      certManager: this.#certManager,
      router: this.#router,
      on: this.#tell,
    });
    this.#router.session = session;
    this.#ended = session.run(AbortSignal.any([this.#signal, over.signal]));
    this.#tell({ kind: 'leading', held: true });
  }

  #end(): void {
    if (this.#over === undefined) return;
    this.#over.abort();
    this.#over = undefined;
    this.#router.session = undefined;
    this.#tell({ kind: 'leading', held: false });
  }
}
