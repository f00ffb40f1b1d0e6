import type { Action, Plan } from '@handover/core';
import {
  type AuthorityOutcome,
  bundleKeyOf,
  notReadyIn,
  type Observation,
  observeWithRetry,
  type Planner,
  readableCertificates,
  reconcile,
  WatchedClock,
} from '@handover/engine';
import { HandoverError, minute, second } from '@handover/material';
import type { Certificates } from './certificates.ts';
import { isForeign, SIMULATED_AUTHORITY } from './resources.ts';
import type { Stage } from './stage.ts';
import { Wire } from './wire.ts';

/**
 * When Ready is reported, every observed leaf must verify against every observed bundle, by their real certificates. The violation, or
 * undefined.
 */
const readyButRefused = (certificates: Certificates, observation: Observation): string | undefined => {
  if (notReadyIn(observation).length > 0) return undefined;
  const { responsibilities, stored, now } = observation;
  const read = (object: string, key: string): readonly string[] =>
    readableCertificates(stored.get(object)?.data[key]).map(({ fingerprint }) => fingerprint);
  const own = [...responsibilities.leaves.keys(), ...responsibilities.bundles.keys()].filter(
    (id) => !isForeign(id),
  );
  const bundles = new Map(own.map((id) => [read(id, bundleKeyOf(id)).join(), id]));
  for (const leaf of responsibilities.leaves.keys()) {
    if (isForeign(leaf)) continue;
    const chain = read(leaf, 'tls.crt');
    if (chain.length === 0) return `Ready is said, and ${leaf} holds no leaf`;
    for (const [bundle, id] of bundles) {
      const verdict = certificates.verdict(chain, bundle.split(','), now);
      if (!verdict.ok) return `Ready is said, and ${id} refuses ${leaf}: ${verdict.reason}`;
    }
  }
  return undefined;
};

/** Actions in few words, for a trace. */
const describeActions = (actions: readonly Action[]): string =>
  actions
    .slice(0, 6)
    .map((action) => {
      if (action.kind === 'stamp') return `stamp ${action.consumer} ${JSON.stringify(action.stamp)}`;
      if (action.kind === 'reissue') return `reissue ${action.object} because ${action.why}`;
      if ('object' in action) {
        const issue = action.kind === 'write-leaf' ? action.issue : undefined;
        return `${action.kind} ${action.object} r${action.revision} (${action.anchors.length} CAs${
          issue === undefined ? '' : `, leaf of ${issue.generation}`
        }) because ${action.why}`;
      }
      return `${action.kind} r${action.revision} because ${action.why}`;
    })
    .join('; ');

const sameTarget = (a: Action, b: Action): boolean =>
  a.kind === b.kind &&
  ('object' in a && 'object' in b
    ? a.object === b.object
    : 'consumer' in a && 'consumer' in b
      ? a.consumer === b.consumer
      : true);

/** Runs the engine's reconcile again and again, and crashes in every possible way. */
export class SimulatedController {
  readonly name: string;
  readonly #stage: Stage;
  #life = 0;
  #wire: Wire | undefined;
  #busy = false;
  #wakeAt = Number.POSITIVE_INFINITY;
  #clock: WatchedClock | undefined;

  constructor(name: string, stage: Stage) {
    this.name = name;
    this.#stage = stage;
  }

  start(): void {
    const { store } = this.#stage;
    const clock = new WatchedClock(
      () => store.now,
      () => this.#stage.time(),
      { tolerance: second, steadySince: store.now },
    );
    clock.now();
    this.#clock = clock;
    this.#wire = new Wire(
      this.#stage,
      clock,
      () => this.crash(),
      () => this.#stage.resumed(),
    );
    this.#busy = false;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.wake(0);
  }

  stop(): void {
    this.#wire?.cut();
    this.#wire = undefined;
    this.#busy = false;
    this.#life++;
  }

  /** Neither at rest nor waiting for its home. */
  get computing(): boolean {
    return this.#busy && this.#wire?.pending === 0;
  }

  wake(wait: number): void {
    const at = this.#stage.time() + wait;
    if (this.#wire === undefined || at >= this.#wakeAt) return;
    this.#wakeAt = at;
    const life = this.#life;
    this.#stage.soon(wait, () => {
      if (life !== this.#life || this.#wakeAt !== at) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      if (this.#busy || this.#wire === undefined) return;
      this.#pass(this.#wire);
    });
  }

  /** Its own wall clock jumps: only its timers notice. */
  jump(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.wake(this.#stage.random.between(0, 2 * minute));
  }

  crash(): void {
    const { random } = this.#stage;
    this.#stage.happened('crash');
    this.#stage.log(() => `${this.name} crashes`);
    this.stop();
    const life = this.#life;
    this.#stage.soon(random.between(second, minute), () => {
      if (life === this.#life) this.start();
    });
  }

  /** Compares the home's clock with its own monotonic one, at each look and every few seconds. */
  checkClock(): void {
    if (this.#wire !== undefined && !this.#stage.store.away) this.#clock?.now();
  }

  #pass(wire: Wire): void {
    const { faults, found, random, strategy } = this.#stage;
    const life = this.#life;
    const changes = this.#stage.changes();
    const planner: Planner = (seen, policy, now) => {
      const plan = strategy.plan(seen, policy, now);
      if (plan.actions.length > 0)
        this.#stage.log(() => `${this.name} plans ${plan.actions.length}: ${describeActions(plan.actions)}`);
      return plan;
    };
    this.#busy = true;
    wire.immediate = faults.atomicActs && random.chance(0.2);
    if (found) wire.refresh();
    this.#stage.resumed();
    reconcile(wire.home, SIMULATED_AUTHORITY, planner)
      .then(async (outcome) => {
        if (wire.immediate) await this.#repeats(wire, outcome);
        this.#checkReady(outcome);
        if (life === this.#life) this.#ended(outcome.plan, changes);
      })
      .catch((error: unknown) => {
        if (life === this.#life) this.#failed(error);
      })
      .catch((error: unknown) => this.#stage.threw(error));
  }

  /** Checks that Ready is never reported for leaves that do not verify. */
  #checkReady({ observation }: AuthorityOutcome): void {
    const reason = readyButRefused(this.#stage.certificates, observation);
    if (reason === undefined) return;
    this.#stage.fail({ kind: 'ready', presenter: null, verifier: null, chain: [], bundle: [], reason });
  }

  /** Planning on the result of its own actions, in the same instant, must not repeat them. */
  async #repeats(wire: Wire, { plan, refused }: AuthorityOutcome): Promise<void> {
    // Refused writes in another namespace are tried again.
    if (plan.actions.length === 0 || refused.length > 0) return;
    wire.refresh();
    const { seen, responsibilities, now } = await observeWithRetry(wire.home.fresh, SIMULATED_AUTHORITY);
    const again = this.#stage.strategy.plan(seen, responsibilities.policy, now);
    const repeated = again.actions.find((action) => plan.actions.some((done) => sameTarget(done, action)));
    if (repeated === undefined) return;
    const target =
      'object' in repeated ? repeated.object : 'consumer' in repeated ? repeated.consumer : 'authority';
    this.#stage.fail({
      kind: 'idempotence',
      presenter: null,
      verifier: null,
      chain: [],
      bundle: [],
      reason: `${repeated.kind} ${target} is planned again`,
    });
  }

  #ended(plan: Plan, changes: number): void {
    const { store, pace } = this.#stage;
    // Its observation may be out of date.
    if (plan.actions.length > 0 || (this.#stage.quiet() && this.#stage.changes() !== changes)) {
      this.#again(pace);
      return;
    }
    this.#busy = false;
    this.#stage.idle(plan);
    const until = plan.wakeAt === undefined ? Number.POSITIVE_INFINITY : plan.wakeAt - store.now + 1;
    const poll = this.#stage.quiet() ? 7 * 24 * 60 * minute : (plan.phase === 'Stable' ? 30 : 10) * second;
    this.wake(Math.max(pace, Math.min(until, poll)));
  }

  #failed(error: unknown): void {
    const { random, pace } = this.#stage;
    if (!(error instanceof HandoverError)) throw error;
    this.#stage.log(() => `${this.name} gives up: ${error.code}: ${error.message}`);
    if (error.retry === 'now') this.#again(pace);
    else if (error.retry === 'later') this.#again(random.between(second, 15 * second));
    else throw error;
  }

  #again(wait: number): void {
    this.#busy = false;
    this.wake(wait);
  }
}
