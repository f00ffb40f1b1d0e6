import { type AuthorityState, isMoving, type Plan, type Stamp } from '@handover/core';
import type { ConsumerFound, Home, ObjectId } from '@handover/engine';
import { hour, instant, minute, VirtualClock } from '@handover/material';
import { Certificates } from './certificates.ts';
import { Consumer } from './consumer.ts';
import { SimulatedController } from './controller.ts';
import { scheduleFaults, worstMoment } from './fault-schedule.ts';
import { type Faults, faultsNow } from './faults.ts';
import { declareFor, furnish } from './furnish.ts';
import { type Broken, Invariant, NO_PAIR, type SimulationFailure } from './invariant.ts';
import { livenessOf, RESTLESS } from './liveness.ts';
import { Random } from './random.ts';
import { type Setup, setUp, type Wishes } from './setup.ts';
import type { Stage } from './stage.ts';
import { type Content, conflict, SimulatedStore } from './store.ts';
import type { Strategy } from './strategies.ts';
import type { SimulatedSurroundings, Traits } from './traits.ts';
import { faultsIn, transitionOf } from './transition-of.ts';

/** When every world begins; any instant would do. */
export const BEGINNING = Date.UTC(2030, 0, 1);

/** A rotation that has not ended this long after the last fault never ends. */
const PATIENCE = 12 * hour;
/** More turns of the event loop than the engine needs between two calls of its home. */
const TURNS = 30;
const TOO_MANY_TURNS = 1_000_000;

/** The world of one seed: its clock, home, consumers and controllers, and the result. */
export class World implements SimulatedSurroundings, Stage {
  readonly seed: number;
  readonly setup: Setup;
  readonly random: Random;
  readonly strategy: Strategy;
  readonly certificates = new Certificates(10 * minute);
  readonly store: SimulatedStore;
  readonly invariant: Invariant;
  readonly controllers: SimulatedController[] = [];
  readonly consumers = new Map<string, Consumer>();
  readonly counts = new Map<string, number>();
  readonly lines: string[] | undefined;
  readonly cacheLag: number;
  readonly volumeLag: number;
  readonly pace: number;
  readonly gap: number;
  readonly found: boolean;
  readonly meddle: (home: Home) => Home;
  readonly clock = new VirtualClock(instant(BEGINNING));
  readonly #readers = new Map<string, Consumer[]>();
  #pending = 0;
  #changes = 0;
  #over = false;
  #consumersFound: readonly ConsumerFound[] | undefined;
  #welcomed = 0;
  #resumed = false;
  #thrown: { readonly error: unknown } | undefined;
  /** Faults may still happen. */
  stormy = true;
  faults: Faults;
  /** A distrust was requested: one per world is enough. */
  distrusted = false;
  lastJump = Number.NEGATIVE_INFINITY;
  rotations = 0;
  firstFailure: SimulationFailure | undefined;
  /** Failures that are not handshakes. */
  otherFailures = 0;
  blockedBy: readonly string[] = [];

  constructor(
    seed: number,
    wishes: Wishes,
    strategy: Strategy,
    meddle: (home: Home) => Home,
    traced: boolean,
  ) {
    this.seed = seed;
    this.strategy = strategy;
    this.random = new Random(seed);
    this.setup = setUp(this.random, wishes);
    this.cacheLag = this.setup.policy.cacheLag;
    // `reloadWithin` has to cover the kubelet's lag, 84 s at most as measured; a directory has none.
    this.volumeLag = this.setup.policy.consumersFound
      ? Math.min(0.9 * this.setup.policy.reloadWithin, 84_000)
      : 0;
    this.pace = this.setup.pace;
    this.gap = this.setup.gap;
    this.lines = traced ? [] : undefined;
    this.meddle = meddle;
    this.found = this.setup.policy.consumersFound;
    this.faults = faultsNow(this.setup.faults, this.stormy, this.strategy.name);
    this.store = new SimulatedStore(this.certificates, () => this.time());
    this.invariant = new Invariant(this.certificates, this.store, this.setup.policy.onBlocked, (broken) =>
      this.fail(broken),
    );
    furnish(this);
    this.store.onWrite = (object, content) => {
      for (const reader of this.#readers.get(object) ?? []) reader.written(object, content);
      this.notify();
    };
  }

  get handshakes() {
    return this.invariant.handshakes;
  }

  async run(): Promise<void> {
    const first = new SimulatedController('one', this);
    this.controllers.push(first);
    first.start();
    scheduleFaults(this);
    this.later(this.setup.window, () => {
      this.stormy = false;
      this.faults = faultsNow(this.setup.faults, this.stormy, this.strategy.name);
      this.store.away = false;
      this.log(() => 'faults are over');
    });
    const end = BEGINNING + this.setup.window + PATIENCE;
    for (;;) {
      const wait = this.#over ? undefined : this.clock.next;
      if (wait === undefined) return;
      if (this.time() + wait > end) {
        this.fail({ ...NO_PAIR, kind: 'liveness', reason: 'the world neither ended nor came to rest' });
        return;
      }
      this.clock.step();
      if (this.#resumed) await this.#settled();
      if (this.#thrown !== undefined) throw this.#thrown.error;
      this.invariant.step(this.time());
    }
  }

  /**
   * Runs asynchronous code until it waits for its home again. It waits for nothing else, and promises settle in the order in which
   * they were made, so that the seed determines this too.
   */
  async #settled(): Promise<void> {
    this.#resumed = false;
    for (let turn = 0; turn < TURNS || this.controllers.some(({ computing }) => computing); turn++) {
      if (turn > TOO_MANY_TURNS) throw new TypeError('a controller waits for something other than its home');
      await undefined;
    }
  }

  resumed(): void {
    this.#resumed = true;
  }

  threw(error: unknown): void {
    this.#thrown ??= { error };
  }

  time(): number {
    return this.clock.now();
  }

  /** The world is not quiet before this happens: the liveness check waits for it. */
  later(wait: number, act: () => void): void {
    this.#pending++;
    this.clock.after(wait, () => {
      this.#pending--;
      act();
    });
  }

  soon(wait: number, act: () => void): void {
    this.clock.after(wait, act);
  }

  quiet(): boolean {
    return !this.stormy && this.#pending === 0;
  }

  happened(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  log(line: () => string): void {
    this.lines?.push(`${((this.time() - BEGINNING) / 1000).toFixed(1).padStart(8)} s  ${line()}`);
  }

  fail(broken: Broken): void {
    if (broken.kind !== 'handshake') this.otherFailures++;
    const { kind, reason, presenter, verifier, chain, bundle } = broken;
    this.log(
      () =>
        `FAILS ${kind}: ${presenter ?? ''} [${chain.join(', ')}] → ${verifier ?? ''} [${bundle.join(', ')}]: ${reason}`,
    );
    this.firstFailure ??= { seed: this.seed, at: Math.round(this.time() - BEGINNING) / 1000, ...broken };
    if (kind !== 'handshake') this.#over = true;
  }

  consumersFound(): readonly ConsumerFound[] {
    this.#consumersFound ??= [...this.consumers.values()]
      .filter((consumer) => consumer.traits.declared)
      .map((consumer) => consumer.seen());
    return this.#consumersFound;
  }

  changes(): number {
    return this.#changes + this.store.version;
  }

  consumersChanged(): void {
    this.#changes++;
    this.#consumersFound = undefined;
  }

  stamp(id: string, expect: string, stamp: Stamp): void {
    const consumer = this.consumers.get(id);
    if (consumer === undefined) throw conflict(id);
    consumer.stamp(expect, stamp);
    this.log(() => `${id} is stamped ${JSON.stringify(stamp)}`);
    this.happened('rolled');
    this.notify();
  }

  swapped(before: AuthorityState | undefined): void {
    const { state } = this.store;
    if (state === undefined) return;
    const swap = transitionOf(before, state);
    this.log(() => `revision ${state.revision}: ${JSON.stringify(swap)}`);
    if (swap.kind === (this.faults.atomicActs ? 'retire' : 'activate')) this.rotations++;
    for (const fault of faultsIn(swap, this.setup.faults)) this.happened(fault);
    const stranger = this.consumers.get('stranger');
    if (swap.kind === 'activate' && stranger !== undefined) this.happened('stranger');
    // The cross-certificate covers a verifier that misses one rotation (docs/decisions/0004, point 11).
    if (swap.kind === 'retire') stranger?.visited();
    this.happened(swap.kind);
    worstMoment(this, swap.kind);
    this.invariant.swapped(before, swap);
    for (const consumer of this.consumers.values()) consumer.askedAgain();
    this.notify();
  }

  wrote(object: ObjectId, before: Content | undefined): void {
    const after = this.store.latest(object);
    const moving = this.store.state !== undefined && isMoving(this.store.state);
    const renewed = before?.issuer !== undefined && before.issuer === after?.issuer;
    if (moving && renewed && before.chain?.[0] !== after?.chain?.[0]) this.happened('renewal');
    const labels = (list: readonly string[] = []) =>
      list.map((item) => this.certificates.label(item)).join(', ');
    this.log(
      () =>
        `${object} is written: [${labels(after?.chain)}] trusts [${labels(after?.anchors)}] (write ${after?.order})`,
    );
    this.invariant.wrote(object);
    this.invariant.noted(object);
  }

  /** A watch event for every controller, which may be late or lost. */
  notify(): void {
    const { random, faults } = this;
    for (const controller of this.controllers) {
      if (faults.lostEvents && random.chance(0.3)) this.happened('lost-events');
      else if (faults.lateEvents && random.chance(0.3)) {
        this.happened('late-events');
        controller.wake(random.between(10_000, 2 * minute));
      } else controller.wake(Math.max(this.pace, random.between(50, 500)));
    }
  }

  idle(plan: Plan): void {
    if (!this.quiet()) return;
    const waited = this.time() > BEGINNING + this.setup.window + RESTLESS;
    const rest = livenessOf(plan, this, waited, (object) =>
      (this.#readers.get(object) ?? []).some(({ traits }) => traits.declared),
    );
    if (rest === undefined) return;
    this.#over = true;
    this.blockedBy = rest.blockedBy;
    for (const reason of rest.failures) this.fail({ ...NO_PAIR, kind: 'liveness', reason });
  }

  welcomeNext(): void {
    const traits = this.setup.newcomers[this.#welcomed++];
    if (traits !== undefined) this.welcome(traits);
  }

  /** A consumer that appears in the middle, with its objects. */
  welcome(traits: Traits): void {
    declareFor(traits, this);
    this.enter(traits).appear();
    this.happened('newcomers');
    this.notify();
  }

  enter(traits: Traits): Consumer {
    const consumer = new Consumer(traits, this);
    this.consumers.set(traits.id, consumer);
    for (const object of consumer.objects) {
      this.#readers.set(object, [...(this.#readers.get(object) ?? []), consumer]);
    }
    this.consumersChanged();
    return consumer;
  }
}
