import { type FSWatcher, watch } from 'node:fs';
import type { Action, Plan } from '@handover/core';
import { after, HandoverError, type Instant } from '@handover/material';
import { obstacleError } from '../act/keep-files.ts';
import { keepProfile } from '../act/profile.ts';
import { isStatic, reconcileStaticBundle } from '../act/static-bundle.ts';
import { type Outcome, reconcile } from '../controller/reconcile.ts';
import type { Catalogue } from '../look/catalogue.ts';
import { idOf } from '../look/catalogue.ts';
import type { AuthorityId, ObjectId } from '../look/home.ts';
import type { Observation } from '../observe/observe.ts';
import { driftedIn, type Vitals, vitalsOf } from '../report/vitals.ts';
import { WorkQueue } from '../scheduling/work-queue.ts';
import type { DirectoryHome } from './home.ts';
import { rememberResources } from './resources.ts';
import { SteadyClock } from './steady-clock.ts';

/** What a run has to say. */
export type RunEvent =
  | {
      readonly kind: 'acted';
      readonly authority: AuthorityId;
      readonly actions: readonly Action[];
      readonly plan: Plan;
      /** Of what was written: what somebody else had changed. */
      readonly repaired: readonly ObjectId[];
      /** What the plan was made on, private keys included: for whoever shows it, not for a log. */
      readonly observation: Observation;
    }
  | {
      readonly kind: 'rested';
      readonly authority: AuthorityId;
      readonly plan: Plan;
      readonly vitals: Vitals;
      readonly observation: Observation;
    }
  | { readonly kind: 'untold'; readonly authority: AuthorityId; readonly programs: readonly string[] }
  | {
      readonly kind: 'failed';
      readonly what: string;
      readonly error: unknown;
      readonly retryAt: Instant | undefined;
    }
  | { readonly kind: 'loaded'; readonly catalogue: Catalogue };

export type Listener = (event: RunEvent) => void;

/** Files that somebody edits by hand are put right within this, even if no event tells. */
const BACKSTOP_MS = 15_000;
/** How often consumers are asked while a step waits for them. */
const ASK_AGAIN_MS = 1_000;
const TELL_AGAIN_MS = 5_000;
/** How soon it is noticed that the clock was set. */
const LOOK_AT_CLOCK_MS = 1_000;
/** How often one pass is tried: an object that failed twice is left out. */
const MOST_FAILURES = 3;
/** An editor writes a file in several steps. */
const DEBOUNCE_MS = 50;

export const workOf = (catalogue: Catalogue): readonly string[] => [
  ...catalogue.tlsProfiles.map((profile) => `TLSProfile ${idOf(profile)}`),
  ...catalogue.trustBundles.filter(isStatic).map((bundle) => `TrustBundle ${bundle.metadata.name}`),
  ...[...catalogue.authorities.keys()].map((id) => `Authority ${id}`),
];

interface Worked {
  /** When to come back. */
  readonly again: Instant;
  readonly busy: boolean;
  /** Objects that could not be written, such as folders with files of others. */
  readonly obstacles: readonly HandoverError[];
}

const NO_OBSTACLES: Worked['obstacles'] = [];

/** One pass over one resource. */
export async function work(
  home: DirectoryHome,
  catalogue: Catalogue,
  key: string,
  on: Listener,
): Promise<Worked> {
  home.checkLock();
  const [kind, id = ''] = key.split(' ');
  const backstop = after(home.clock.now(), BACKSTOP_MS);
  if (kind === 'TLSProfile') {
    const profile = catalogue.tlsProfiles.find((candidate) => idOf(candidate) === id);
    if (profile !== undefined) await keepProfile(home, await home.fresh(), profile);
    return { again: backstop, busy: false, obstacles: NO_OBSTACLES };
  }
  if (kind === 'TrustBundle') {
    const bundle = catalogue.trustBundles.find(({ metadata }) => metadata.name === id);
    if (bundle !== undefined) await reconcileStaticBundle(home, await home.fresh(), bundle);
    return { again: backstop, busy: false, obstacles: NO_OBSTACLES };
  }
  await home.checkClock([id]);
  if (home.clock instanceof SteadyClock) await home.clock.save();
  const outcome = await reconcile(home, id);
  const { plan, untold, observation } = outcome;
  if (plan.actions.length > 0) {
    const repaired = driftedIn(observation, plan);
    on({ kind: 'acted', authority: id, actions: plan.actions, plan, repaired, observation });
  } else on({ kind: 'rested', authority: id, plan, vitals: vitalsOf(observation, plan), observation });
  if (untold.length > 0) on({ kind: 'untold', authority: id, programs: untold });
  const busy = plan.actions.length > 0;
  const obstacles = [...observation.stored].flatMap(([object, { obstacle }]) =>
    obstacle === undefined ? [] : [obstacleError(object, obstacle)],
  );
  obstacles.push(...home.objects.planted(observation.stored.keys()));
  return { busy, again: Math.min(againFor(outcome, observation.now), backstop) as Instant, obstacles };
}

const againFor = ({ again, plan, untold, observation }: Outcome, now: Instant): Instant => {
  const wishes: number[] = [again ?? Number.POSITIVE_INFINITY];
  if (plan.blockedBy.length > 0 && observation.responsibilities.authority.spec.consumers.length > 0)
    wishes.push(now + ASK_AGAIN_MS);
  if (untold.length > 0) wishes.push(now + TELL_AGAIN_MS);
  return Math.min(...wishes) as Instant;
};

/** One pass over everything until there is nothing to do at this moment. Throws the first failure, after trying the rest. */
export async function passOnce(home: DirectoryHome, catalogue: Catalogue, on: Listener): Promise<void> {
  let failure: unknown;
  await rememberResources(home.files, home.path);
  for (const key of workOf(catalogue)) {
    let failures = 0;
    for (let passes = 0; passes < 64 && failures < MOST_FAILURES; passes++) {
      try {
        const { busy, obstacles } = await work(home, catalogue, key, on);
        if (busy) continue;
        if (obstacles[0] !== undefined) throw obstacles[0];
        break;
      } catch (error) {
        // An object that cannot be written is left out of the passes that follow.
        if (failures++ > 0) continue;
        on({ kind: 'failed', what: key, error, retryAt: undefined });
        failure ??= error;
      }
    }
  }
  if (failure !== undefined) throw failure;
}

/** Runs the directory for ever: the caller holds the lock. Ends with `signal`, after the write it is at. */
export async function runDirectory(home: DirectoryHome, on: Listener, signal: AbortSignal): Promise<void> {
  let catalogue = home.load();
  on({ kind: 'loaded', catalogue });
  await rememberResources(home.files, home.path);
  const lost = new AbortController();
  const queue = new WorkQueue({
    now: () => home.clock.now(),
    random: Math.random,
    onError: (what, error, retryAt) => on({ kind: 'failed', what, error, retryAt }),
    work: async (key) => {
      if (key === RELOAD) {
        const before = workOf(catalogue);
        catalogue = home.load();
        await rememberResources(home.files, home.path);
        home.objects.tryAgain();
        on({ kind: 'loaded', catalogue });
        const wanted = workOf(catalogue);
        for (const gone of before.filter((known) => !wanted.includes(known))) queue.drop(gone);
        for (const each of wanted) queue.add(each);
        return undefined;
      }
      if (!workOf(catalogue).includes(key)) return undefined;
      try {
        const { again, obstacles } = await work(home, catalogue, key, on);
        for (const error of obstacles) on({ kind: 'failed', what: error.path ?? key, error, retryAt: again });
        return again;
      } catch (error) {
        // Somebody else was faster: no failure, look again.
        if (error instanceof HandoverError && error.retry === 'now') return home.clock.now();
        if (error instanceof HandoverError && error.code === 'HOME_LOCK_LOST') lost.abort(error);
        throw error;
      }
    },
  });
  home.meters.queue(() => ({ due: queue.due, planned: queue.size }));
  for (const key of workOf(catalogue)) queue.add(key);
  await home.files.makeDirectory(`${home.state}/requests`, 0o700);
  const watchers = [
    watchNames(home.path, (name) => {
      if (name === undefined || /\.ya?ml$/.test(name))
        queue.add(RELOAD, after(home.clock.now(), DEBOUNCE_MS));
    }),
    watchNames(`${home.state}/requests`, () => {
      for (const id of catalogue.authorities.keys()) queue.add(`Authority ${id}`);
    }),
  ];
  // The queue counts in the clock's own time: set back, it would sleep until that time comes again.
  let steadySince = home.clock.steadySince();
  const lookAtClock = (): void => {
    const since = home.clock.steadySince();
    if (since === steadySince) return;
    steadySince = since;
    for (const key of [RELOAD, ...workOf(catalogue)]) queue.add(key);
  };
  const clockWatch = setInterval(() => {
    try {
      lookAtClock();
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error; // a disk that fails is said by the next pass
    }
  }, LOOK_AT_CLOCK_MS);
  try {
    await queue.run(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(clockWatch);
    for (const watcher of watchers) watcher?.close();
  }
  lost.signal.throwIfAborted();
}

const RELOAD = 'resources';

/** Events only make it faster: without them the backstop finds out. */
const watchNames = (path: string, heard: (name: string | undefined) => void): FSWatcher | undefined => {
  try {
    const watcher = watch(path, (_event, name) => heard(name ?? undefined));
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
};
