import { type Clock, type Instant, iso, Listeners, type Timer } from '@handover/material';
import { isCode, KubeError } from './error.ts';
import { Informer } from './informer.ts';
import { type Lease, leases } from './kinds.ts';
import type { Fence, Kube } from './kube.ts';
import { anyOf } from './wait.ts';

export interface LeadOptions {
  readonly namespace: string;
  readonly name: string;
  /** The name of this process in the lease. No other process may use it. */
  readonly identity: string;
  /** Milliseconds after the last renewal until another process may take over; whole seconds. Default 15,000. */
  readonly duration?: number;
  /** Milliseconds without a renewal after which this process stops writing. Default two thirds of `duration`. */
  readonly renewWithin?: number;
  /** Milliseconds between renewals, and between looks while another process holds the lease. Default 2,000. */
  readonly renew?: number;
  readonly signal?: AbortSignal;
}

interface LeaseEvents {
  /** Terms count 1, 2, 3… */
  gained: { readonly term: number };
  lost: { readonly term: number; readonly why: string };
  /** For logs: the election continues without help. */
  trouble: Error;
}

/** The lease as last seen, and when by this process's clock. No other clock is trusted. */
interface Seen {
  readonly record: string;
  readonly at: number;
}

/** `2026-11-15T10:00:00.000000Z`: the API's MicroTime. */
const microTime = (now: Instant): string => iso(now).replace('Z', '000Z');

const resolved = (options: LeadOptions) => {
  const duration = options.duration ?? 15_000;
  const renewWithin = options.renewWithin ?? (duration * 2) / 3;
  const renew = options.renew ?? Math.min(2_000, duration / 5);
  if (
    !(duration >= 1000 && duration % 1000 === 0 && renew > 0 && renew < renewWithin && renewWithin < duration)
  ) {
    throw new KubeError(
      'OPTION_INVALID',
      'a lease needs renew < renewWithin < duration, and a duration in whole seconds',
    );
  }
  if (options.identity === '') throw new KubeError('OPTION_INVALID', 'a lease needs an identity');
  return { ...options, duration, renewWithin, renew };
};

/**
 * Leads, or waits to lead. The right to write ends by this process's monotonic clock, `renewWithin` after it *sent* the last
 * renewal. Other processes wait `duration` after they *saw* that renewal, which is later. In between no process writes, and no
 * two clocks are compared.
 */
export class LeaderLease implements Fence {
  readonly #kube: Kube;
  readonly #options: ReturnType<typeof resolved>;
  readonly #clock: Clock;
  readonly #listeners = new Listeners<LeaseEvents>();
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #ended: Promise<void> | undefined;
  #current: Lease | undefined;
  #seen: Seen | undefined;
  #terms = 0;
  #leading = false;
  /** When the right to write ends. */
  #until = Number.NEGATIVE_INFINITY;
  #wallUntil = Number.NEGATIVE_INFINITY;
  #expiry: Timer | undefined;
  #wake: () => void = () => undefined;

  constructor(kube: Kube, options: LeadOptions) {
    this.#kube = kube;
    this.#options = resolved(options);
    this.#clock = kube.clock;
  }

  start(): this {
    this.#ended ??= this.#run();
    return this;
  }

  /** True while writes may leave. */
  get held(): boolean {
    return this.term !== undefined;
  }

  get term(): number | undefined {
    // The monotonic clock stops while a machine is suspended; the wall clock does not. The sooner one counts.
    const inTime = this.#clock.monotonic() < this.#until && this.#clock.now() < this.#wallUntil;
    return this.#leading && inTime ? this.#terms : undefined;
  }

  /** The last known holder. */
  get holder(): string | undefined {
    return this.#current?.spec?.holderIdentity || undefined;
  }

  on<Name extends keyof LeaseEvents>(name: Name, listener: (event: LeaseEvents[Name]) => void): this {
    this.#listeners.on(name, listener);
    return this;
  }

  /** Stops all writes, then gives the lease up, so that another process can take it at once. Never throws. */
  async release(): Promise<void> {
    const mine = this.#leading ? this.#current : undefined;
    this.#lose('it was released');
    this.#stop.abort(new KubeError('KUBE_ABORTED', 'the lease was released'));
    await this.#ended;
    // A write that has left must land before another process can hold the lease.
    await Promise.allSettled(this.#underWay);
    if (mine === undefined) return;
    await this.#giveUp(mine).catch((error: Error) => this.#listeners.emit('trouble', error));
  }

  /** @internal */
  during<Result>(write: Promise<Result>): Promise<Result> {
    this.#underWay.add(write);
    const over = () => void this.#underWay.delete(write);
    write.then(over, over);
    return write;
  }

  async #giveUp(mine: Lease): Promise<void> {
    const { namespace, name, identity } = this.#options;
    const call = { timeout: 5_000 };
    const freed = (lease: Lease): Lease => ({
      ...lease,
      spec: {
        ...lease.spec,
        holderIdentity: '',
        leaseDurationSeconds: 1,
        renewTime: microTime(this.#clock.now()),
      },
    });
    try {
      await this.#kube.update(leases, freed(mine), call);
    } catch (error) {
      if (!isCode(error, 'KUBE_CONFLICT')) throw error;
      // A renewal has landed in between.
      const found = await this.#kube.get(leases, { namespace, name }, call);
      if (found?.spec?.holderIdentity === identity) await this.#kube.update(leases, freed(found), call);
    }
  }

  async #run(): Promise<void> {
    const { namespace, name, renew } = this.#options;
    const any = anyOf(this.#stop.signal, this.#options.signal);
    // A released lease is taken over at once. Without the right to watch, the looks below find it later.
    const informer = new Informer(this.#kube, leases, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
    });
    informer.on('changed', ({ after }) => {
      if (after?.spec?.holderIdentity !== this.#options.identity) this.#wake();
    });
    informer.start(any.signal);
    while (!any.signal.aborted) {
      await this.#tryOnce(any.signal);
      if (any.signal.aborted) break;
      const nap = anyOf(any.signal);
      this.#wake = () => nap.abort('the lease changed');
      await this.#clock.sleep(renew * (0.9 + Math.random() / 5), nap.signal);
      nap.done();
    }
    informer.stop();
    any.done();
    this.#lose('this process is stopping');
  }

  async #tryOnce(signal: AbortSignal): Promise<void> {
    try {
      const sent = this.#clock.monotonic();
      const renewed = await this.#takeOrRenew(signal);
      if (renewed === undefined) this.#lose(`${this.holder ?? 'another process'} holds it`);
      else this.#hold(renewed, sent);
    } catch (error) {
      if (!signal.aborted) this.#listeners.emit('trouble', error as Error);
    }
  }

  /** The lease as written by this process; undefined while another process holds it. */
  async #takeOrRenew(signal: AbortSignal): Promise<Lease | undefined> {
    const { namespace, name, renew, renewWithin } = this.#options;
    const call = { signal, timeout: Math.min(renewWithin / 2, Math.max(renew, 1_000)) };
    try {
      if (this.#leading && this.#current !== undefined) {
        return await this.#kube.update(leases, this.#asOurs(this.#current), call);
      }
      const found = await this.#kube.get(leases, { namespace, name }, call);
      this.#observe(found);
      if (found === undefined) {
        return await this.#kube.create(leases, this.#asOurs({ metadata: { namespace, name } }), call);
      }
      return this.#isFree(found) ? await this.#kube.update(leases, this.#asOurs(found), call) : undefined;
    } catch (error) {
      // Another process was faster, or the answer to our own last write was lost: read the lease and decide again.
      if (!isCode(error, 'KUBE_CONFLICT', 'KUBE_ALREADY_EXISTS', 'KUBE_NOT_FOUND')) throw error;
      const found = await this.#kube.get(leases, { namespace, name }, call);
      this.#observe(found);
      if (found?.spec?.holderIdentity !== this.#options.identity) return undefined;
      return await this.#kube.update(leases, this.#asOurs(found), call);
    }
  }

  #observe(found: Lease | undefined): void {
    this.#current = found;
    const record = JSON.stringify([found?.metadata.uid, found?.metadata.resourceVersion]);
    if (this.#seen?.record !== record) this.#seen = { record, at: this.#clock.monotonic() };
  }

  #isFree({ spec }: Lease): boolean {
    const { identity, duration } = this.#options;
    if ((spec?.holderIdentity ?? '') === '' || spec?.holderIdentity === identity) return true;
    const theirs = (spec?.leaseDurationSeconds ?? duration / 1000) * 1000;
    return this.#seen !== undefined && this.#clock.monotonic() - this.#seen.at > theirs;
  }

  #asOurs(lease: Lease): Lease {
    const { identity, duration } = this.#options;
    const { spec = {} } = lease;
    const time = microTime(this.#clock.now());
    const same = spec.holderIdentity === identity;
    return {
      ...lease,
      spec: {
        ...spec,
        holderIdentity: identity,
        leaseDurationSeconds: duration / 1000,
        renewTime: time,
        acquireTime: same ? (spec.acquireTime ?? time) : time,
        leaseTransitions: (spec.leaseTransitions ?? 0) + (same || spec.holderIdentity === undefined ? 0 : 1),
      },
    };
  }

  #hold(lease: Lease, sent: number): void {
    this.#observe(lease);
    const until = sent + this.#options.renewWithin;
    const left = until - this.#clock.monotonic();
    if (left <= 0) {
      this.#lose('the renewal took too long');
      return;
    }
    // The time ran out before this renewal, even if the timer has not fired: this is a new term.
    if (this.#leading && this.term === undefined) this.#lose('it was not renewed in time');
    this.#until = until;
    this.#wallUntil = this.#clock.now() + left;
    this.#expiry?.cancel();
    this.#expiry = this.#clock.after(left, () => this.#lose('it was not renewed in time')).unref();
    if (this.#leading) return;
    this.#leading = true;
    this.#terms++;
    this.#listeners.emit('gained', { term: this.#terms });
  }

  #lose(why: string): void {
    this.#expiry?.cancel();
    this.#until = Number.NEGATIVE_INFINITY;
    if (!this.#leading) return;
    this.#leading = false;
    this.#listeners.emit('lost', { term: this.#terms, why });
  }
}

/** Takes part in the election until `signal` aborts or `release()`. Write through `kube.fenced(lease)`. */
export const lead = (kube: Kube, options: LeadOptions): LeaderLease => new LeaderLease(kube, options).start();
