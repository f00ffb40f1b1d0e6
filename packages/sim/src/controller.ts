import type { Action, AuthorityState, Observed, Plan } from '@handover/core';
import { type Instant, minute, second } from '@handover/material';
import { carryOut, describe, mayRestOnCache, sameTarget } from './act.ts';
import type { Landing } from './home.ts';
import type { Basis, Listing, Stage } from './stage.ts';

/** Observe → plan → act, with everything that can go wrong in between. */
export class Controller {
  readonly name: string;
  readonly #stage: Stage;
  #life = 0;
  #alive = false;
  #busy = false;
  #wakeAt = Number.POSITIVE_INFINITY;
  #steadySince: Instant | undefined;
  #lastHome = 0;
  #lastTime = 0;
  #cache: Basis | undefined;
  /** Pods that were dated in the future when first seen: from before the home's clock was set back. */
  readonly #misdated = new Set<string>();

  constructor(name: string, stage: Stage) {
    this.name = name;
    this.#stage = stage;
  }

  start(): void {
    const { home } = this.#stage;
    this.#alive = true;
    this.#busy = false;
    this.#cache = undefined;
    this.#steadySince = home.now;
    this.#lastHome = home.now;
    this.#lastTime = this.#stage.time();
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.wake(0);
  }

  stop(): void {
    this.#alive = false;
    this.#life++;
  }

  wake(wait: number): void {
    const at = this.#stage.time() + wait;
    if (!this.#alive || at >= this.#wakeAt) return;
    this.#wakeAt = at;
    const life = this.#life;
    this.#stage.soon(wait, () => {
      if (life !== this.#life || this.#wakeAt !== at) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      if (this.#busy) return;
      this.#observe(false);
    });
  }

  /** Its own wall clock jumps: only its timers notice. */
  jump(): void {
    if (!this.#alive) return;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.wake(this.#stage.random.between(0, 2 * minute));
  }

  crash(inFlight?: () => void): void {
    const { random, faults, soon, later } = this.#stage;
    this.#stage.happened('crash');
    this.#stage.log(() => `${this.name} crashes`);
    this.stop();
    if (inFlight !== undefined && faults.lateWrites && random.chance(0.5)) {
      this.#stage.happened('late-writes');
      later.call(this.#stage, random.between(0, 3 * minute), inFlight);
    }
    const life = this.#life;
    soon.call(this.#stage, random.between(second, minute), () => {
      if (life === this.#life) this.start();
    });
  }

  #observe(mustBeFresh: boolean): void {
    const { home, random, faults } = this.#stage;
    this.#busy = true;
    if (home.away) {
      this.#again(random.between(second, 15 * second));
      return;
    }
    const stale = !mustBeFresh && faults.staleReads && this.#cache !== undefined && random.chance(0.3);
    this.checkClock();
    const fresh = this.#dated(this.#stage.listing());
    const cached = stale ? this.#cache : undefined;
    const listing = cached === undefined ? fresh : { ...cached.listing, now: fresh.now };
    const steadySince = this.#steadySince;
    const changes = this.#stage.changes();
    const pause =
      faults.lateWrites && random.chance(0.04) ? random.between(second, 3 * minute) : random.between(0, 50);
    const oldAuthority = cached !== undefined && random.chance(0.5) ? cached : undefined;
    this.#next(pause, () => {
      if (home.away) {
        this.#again(random.between(second, 15 * second));
        return;
      }
      const { authority, keys } = oldAuthority ?? home;
      const basis: Basis = { changes, listing, authority, keys };
      if (!stale) this.#cache = basis;
      this.#decide(basis, steadySince, stale);
    });
  }

  #dated(listing: Listing): Listing {
    for (const consumer of listing.consumers) {
      for (const { uid, createdAt } of consumer.instances) {
        if (createdAt !== undefined && createdAt > listing.now) this.#misdated.add(uid);
      }
    }
    if (this.#misdated.size === 0) return listing;
    const consumers = listing.consumers.map((consumer) => ({
      ...consumer,
      instances: consumer.instances.map((instance) =>
        this.#misdated.has(instance.uid) ? { ...instance, createdAt: undefined } : instance,
      ),
    }));
    return { ...listing, consumers };
  }

  /** The home's clock against its own monotonic one: whenever it looks, and every few seconds besides. */
  checkClock(): void {
    const { home } = this.#stage;
    if (!this.#alive || home.away) return;
    const time = this.#stage.time();
    const drift = home.now - this.#lastHome - (time - this.#lastTime);
    if (Math.abs(drift) > second) this.#steadySince = home.now;
    this.#lastHome = home.now;
    this.#lastTime = time;
  }

  #decide(basis: Basis, steadySince: Instant | undefined, stale: boolean): void {
    const { home, random, strategy, faults } = this.#stage;
    const { now, policy } = basis.listing;
    const look = (list: Listing, authority: AuthorityState | undefined): Observed => ({
      authority,
      objects: list.objects,
      consumers: list.consumers,
      rotate: list.rotate,
      distrust: list.distrust,
      adoptable: authority === undefined ? list.adoptable : [],
      ...(steadySince === undefined ? {} : { steadySince }),
    });
    const plan = strategy.plan(look(basis.listing, basis.authority), policy, now);
    if (stale) {
      this.#stage.happened('stale-reads');
      // A cache may be behind: nothing is created and no step is taken on it.
      if (plan.actions.length === 0 || plan.actions.some((action) => !mayRestOnCache(action))) {
        this.#observe(true);
        return;
      }
    }
    if (plan.actions.length === 0) {
      this.#rest(plan, basis);
      return;
    }
    this.#stage.log(() => `${this.name} plans ${plan.actions.length}: ${describe(plan.actions)}`);
    if (!stale && faults.atomicActs && random.chance(0.3)) {
      const version = home.version;
      const results = plan.actions.map((action) => this.#perform(action, basis));
      const own = plan.actions.filter((action) => action.kind !== 'stamp').length;
      if (results.every((result) => result === 'landed') && home.version === version + own) {
        const again = strategy.plan(look(this.#dated(this.#stage.listing()), home.authority), policy, now);
        const repeated = again.actions.find((action) =>
          plan.actions.some((done) => sameTarget(done, action)),
        );
        if (repeated !== undefined) this.#stage.notIdempotent(repeated);
      }
      this.#again(this.#stage.pace);
      return;
    }
    this.#act(plan.actions, 0, basis);
  }

  #rest(plan: Plan, basis: Basis): void {
    const { home } = this.#stage;
    // What it saw is no longer how things are.
    if (this.#stage.quiet() && this.#stage.changes() !== basis.changes) {
      this.#again(this.#stage.pace);
      return;
    }
    this.#busy = false;
    this.#stage.idle(plan);
    const until = plan.wakeAt === undefined ? Number.POSITIVE_INFINITY : plan.wakeAt - home.now + 1;
    const poll = this.#stage.quiet() ? 7 * 24 * 60 * minute : (plan.phase === 'Stable' ? 30 : 10) * second;
    this.wake(Math.max(this.#stage.pace, Math.min(until, poll)));
  }

  #act(actions: readonly Action[], index: number, basis: Basis): void {
    const { random, faults, home } = this.#stage;
    const action = actions[index];
    if (action === undefined) {
      this.#again(this.#stage.pace);
      return;
    }
    const late = faults.lateWrites && random.chance(0.06);
    if (late) this.#stage.happened('late-writes');
    const wait = late ? random.between(5 * second, 5 * minute) : random.between(0, this.#stage.gap);
    this.#next(wait, () => {
      if (faults.crash && random.chance(0.05)) {
        this.crash(() => {
          if (!home.away) this.#perform(action, basis);
        });
        return;
      }
      if (home.away) {
        this.#again(random.between(second, 15 * second));
        return;
      }
      const result = this.#perform(action, basis);
      if (faults.crash && random.chance(0.05)) {
        this.crash();
        return;
      }
      if (result === 'conflict') {
        this.#stage.happened('conflicts');
        if (random.chance(0.5)) {
          this.#again(this.#stage.pace);
          return;
        }
      }
      this.#act(actions, index + 1, basis);
    });
  }

  #perform(action: Action, basis: Basis): Landing {
    const { home } = this.#stage;
    const result = carryOut(this.#stage, action, basis);
    this.#stage.log(() => `${this.name}: ${describe([action])}: ${result} (write ${home.version})`);
    return result;
  }

  #next(wait: number, act: () => void): void {
    const life = this.#life;
    this.#stage.soon(wait, () => {
      if (life === this.#life) act();
    });
  }

  #again(wait: number): void {
    this.#busy = false;
    this.wake(wait);
  }
}
