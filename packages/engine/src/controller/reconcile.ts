import { type Action, isElsewhere, type Plan, plan, type Swap } from '@handover/core';
import { type HandoverError, type Instant, instant } from '@handover/material';
import { act } from '../act/act.ts';
import { fairShare } from '../act/fair-share.ts';
import { EngineError, isCode } from '../error.ts';
import { type Observation, observeWithRetry } from '../observe/observe.ts';
import { inParallel } from '../scheduling/in-parallel.ts';
import type { AuthorityId, Home } from '../snapshot/home.ts';
import type { ReadSnapshot } from '../snapshot/snapshot.ts';

const LEAST_MS = 1_000;
const MOST_MS = 10_000;

/**
 * How soon consumers are asked again by a step that has waited for them for `waited` milliseconds: each second at first, then after a
 * tenth of that time, so that a server that does not reload is not asked, and does not log a refusal, 60 times a minute.
 */
export const askAgainMs = (waited: number): number => Math.min(MOST_MS, Math.max(LEAST_MS, waited / 10));

/** A write or a stamp names the version it rests on, which fences it; a creation or a step, a distrust too, names nothing that could. */
const mayRestOnCache = (action: Action): boolean =>
  action.kind === 'stamp' ||
  action.kind === 'reissue' ||
  ((action.kind === 'write-bundle' || action.kind === 'write-leaf') && action.expect !== undefined);

/** There is nothing to do and nothing to wait for. */
export const isAtRest = ({ actions, blockedBy, phase }: Plan): boolean =>
  actions.length === 0 && blockedBy.length === 0 && phase === 'Stable';

/**
 * Whether a plan that was made on a cached snapshot may be followed: docs/decisions/0203. To do nothing is always safe, but a cache
 * that is behind must not hold up a rotation: only a stable authority with no request rests on it.
 */
const isSafeFromCache = (plan: Plan): boolean =>
  plan.actions.length === 0 ? isAtRest(plan) : plan.actions.every(mayRestOnCache);

export interface AuthorityOutcome {
  readonly observation: Observation;
  /** As far as this pass carried it out. */
  readonly plan: Plan;
  /** Its own namespace needed a write, in this pass or in the next, which follows at once: what was seen is out of date. */
  readonly busy: boolean;
  /** When to reconcile again even if no event comes; undefined: when something changes. */
  readonly requeueAt: Instant | undefined;
  /** What could not be done in other namespaces: nothing here waits for it. What was seen does not say so, since it was seen before. */
  readonly refused: readonly Refused[];
}

export interface Refused {
  /** The object, or the consumer. */
  readonly object: string;
  readonly why: string;
  /** Another writer was faster: the next pass tells more than the reason. */
  readonly raced: boolean;
}

const CONCURRENT_WRITES = 8;

/** Decides what to do; core's `plan`, except in tests and simulations of another planner. */
export type Planner = typeof plan;

/** So many objects take so long to plan for that a probe of the process's health has its turn before. */
const MANY_OBJECTS = 500;
const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** On what the home has in memory, if that will do; else on what is there. */
async function decide(
  home: Home,
  id: AuthorityId,
  planner: Planner,
): Promise<Pick<AuthorityOutcome, 'observation' | 'plan'>> {
  const on = async (read: ReadSnapshot): Promise<Pick<AuthorityOutcome, 'observation' | 'plan'>> => {
    const observation = await observeWithRetry(read, id);
    if (observation.seen.objects.length > MANY_OBJECTS) await breath();
    return {
      observation,
      plan: planner(observation.seen, observation.responsibilities.policy, observation.now),
    };
  };
  if (home.cached !== undefined) {
    const first = await on(home.cached);
    if (isSafeFromCache(first.plan)) return first;
  }
  return on(home.fresh);
}

/** Another writer was faster: the next pass, which follows at once, sees what is left to do. */
export const isConflict = (error: unknown): boolean => isCode(error, 'CONFLICT');

const subjectOf = (action: Action): string =>
  'object' in action ? action.object : 'consumer' in action ? action.consumer : action.kind;

const isSwap = (action: Action): action is Swap => 'expect' in action && !('object' in action);

const clockWasSet = (id: AuthorityId): HandoverError =>
  new EngineError('CONFLICT', `the clock was set while ${id} was looked at; looking again`, {
    retry: 'now',
    path: id,
  });

/** Soon enough for the reason to be seen and told, while the home remembers it. */
const REFUSED_AGAIN_MS = 2_000;

/** At once while something was done; what was refused elsewhere is tried again later, to avoid a hot loop. */
const againFor = ({ actions, wakeAt }: Plan, now: Instant, refused: number): Instant | undefined => {
  if (actions.length > refused) return now;
  if (refused === 0) return wakeAt;
  return instant(Math.min(now + REFUSED_AGAIN_MS, wakeAt ?? Number.POSITIVE_INFINITY));
};

const earliest = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined || b === undefined ? (a ?? b) : instant(Math.min(a, b));

/** Read, plan, act on each, say when to come back. */
export async function reconcile(
  home: Home,
  id: AuthorityId,
  planner: Planner = plan,
): Promise<AuthorityOutcome> {
  const { observation, plan: whole } = await decide(home, id, planner);
  const made =
    home.multiTenant === true
      ? { ...whole, actions: fairShare(whole.actions, observation, home.random) }
      : whole;
  const failures: unknown[] = [];
  const refused: Refused[] = [];
  await inParallel(made.actions, CONCURRENT_WRITES, async (action) => {
    // The clock changed since planning; don't mint with it.
    if (isSwap(action) && home.clock.steadySince() !== observation.seen.steadySince) {
      failures.push(clockWasSet(id));
      return;
    }
    // An object that cannot be written does not hold up the others.
    await act(home, observation, action).catch((error: unknown) => {
      // A neighbour's object must not fail the pass, whatever goes wrong with it.
      if (isElsewhere(action))
        refused.push({
          object: subjectOf(action),
          why: error instanceof Error ? error.message : String(error),
          raced: isConflict(error),
        });
      else failures.push(error);
    });
  });
  // Run reload hooks even if some writes failed.
  const tellAt = home.teller === undefined ? undefined : await home.teller.tell(await home.fresh(), id);
  if (failures.length > 0) throw failures.find(isConflict) ?? failures[0];
  const { record } = observation;
  if (record !== undefined) await home.requests.done(id, record.state);
  const again = earliest(againFor(made, observation.now, refused.length), tellAt);
  const busy = whole.actions.some((action) => !isElsewhere(action));
  return { observation, plan: made, busy, refused, requeueAt: again };
}

/** Passes until one finds nothing to do at this moment. The bound only keeps a bug from spinning for ever. */
export async function untilQuiet<T>(pass: () => Promise<T>, isBusy: (passed: T) => boolean): Promise<T> {
  let passed = await pass();
  for (let passes = 1; isBusy(passed) && passes < 64; passes++) passed = await pass();
  return passed;
}

/** Reconciles until there is nothing to do at this moment. A write that was refused elsewhere is refused again. */
export const converge = (home: Home, id: AuthorityId): Promise<AuthorityOutcome> =>
  untilQuiet(
    () => reconcile(home, id),
    ({ plan: { actions }, refused }) => actions.length > refused.length,
  );
