import { type FSWatcher, watch } from 'node:fs';
import type { TrustBundle } from '@handover/core';
import { after, HandoverError, type Instant, instant } from '@handover/material';
import { obstacleError } from '../act/exact-files.ts';
import { convergeProfile } from '../act/profile.ts';
import { isStatic, reconcileStaticBundle } from '../act/static-bundle.ts';
import { Controller, type Reconcilers, type Result } from '../controller/controller.ts';
import { eventsOf, type Listener } from '../controller/event.ts';
import { keysOf, keyText, RESOURCES, type ResourceKey } from '../controller/key.ts';
import {
  type AuthorityOutcome,
  askAgainMs,
  isConflict,
  reconcile,
  untilQuiet,
} from '../controller/reconcile.ts';
import { EngineError, isCode } from '../error.ts';
import { unknownLeaves } from '../evidence/expected-leaf.ts';
import { driftedIn } from '../observe/vitals.ts';
import { type Catalogue, idOf, targetsOf } from '../snapshot/catalogue.ts';
import type { ObjectId } from '../snapshot/home.ts';
import { hookStatus } from '../snapshot/hook-status.ts';
import { type Hook, hooksIn } from '../snapshot/hooks.ts';
import type { DirectoryHome } from './home.ts';
import { rememberResources } from './resources/resources.ts';
import { SteadyClock } from './state/steady-clock.ts';

/** Files that were edited by hand are put right within this time, even without an event. */
const BACKSTOP_MS = 15_000;
/** Between two looks that change nothing: a hook that has yet to end makes the plan wait a millisecond at a time. */
const REST_MS = 250;
/** How soon it is noticed that the clock was set. */
const LOOK_AT_CLOCK_MS = 1_000;
/** How often one pass is tried: an object that failed twice is left out. */
const MOST_FAILURES = 3;
/** Passes at once: one whose consumers do not answer takes up to 30 s, and must not delay the others. */
const PLACES = { inAll: 64, each: 64 } as const;
/** An editor writes a file in several steps. */
const DEBOUNCE_MS = 50;

const isOf =
  ({ metadata }: TrustBundle) =>
  ({ bundle }: Hook): boolean =>
    bundle === metadata.name;

/** Tells of objects that others had changed, and of files of theirs that lay where `objects` are written. */
const tellRepairs = (
  home: DirectoryHome,
  on: Listener,
  drifted: readonly ObjectId[],
  objects: readonly ObjectId[],
): void => {
  for (const object of new Set([...drifted, ...objects])) {
    const kept = home.replacedFor(object);
    if (drifted.includes(object) || kept.length > 0)
      on({ kind: 'repaired', object, manager: undefined, ...(kept.length === 0 ? {} : { kept }) });
  }
};

/** A resource that is no longer declared. */
const GONE: Result = { requeueAt: undefined };

/** The same, and what fails is recorded for the commands beside this process. */
const recorded = (home: DirectoryHome, reconcilers: PassReconcilers): PassReconcilers => {
  const recording =
    <K extends ResourceKey>(kind: K['kind'], pass: (key: K) => Promise<Result>) =>
    async (key: K): Promise<Result> => {
      const work = `${kind} ${key.id}`;
      try {
        const result = await pass(key);
        const { obstacles = [] } = result;
        // What is wrong with the resources, every command sees.
        await home.runRecord.ended(
          work,
          obstacles.filter((error) => !isCode(error, 'CONSUMER_LEAF_UNKNOWN')),
        );
        return result;
      } catch (error) {
        if (!isConflict(error) && !isLockLost(error)) await home.runRecord.ended(work, [error]);
        throw error;
      }
    };
  return {
    Authority: recording('Authority', reconcilers.Authority),
    TrustBundle: recording('TrustBundle', reconcilers.TrustBundle),
    TLSProfile: recording('TLSProfile', reconcilers.TLSProfile),
  };
};

type PassReconcilers = Required<Pick<Reconcilers, ResourceKey['kind']>>;

/** One pass over each kind of resource. */
const reconcilersOf = (home: DirectoryHome, on: Listener): PassReconcilers => {
  const backstop = (): Instant => after(home.clock.now(), BACKSTOP_MS);
  return recorded(home, {
    TLSProfile: async ({ id }) => {
      home.checkLock();
      const snapshot = await home.fresh();
      const profile = snapshot.catalogue.tlsProfiles.find((candidate) => idOf(candidate) === id);
      if (profile === undefined) return GONE;
      await convergeProfile(home, snapshot, profile);
      return { requeueAt: backstop() };
    },
    TrustBundle: async ({ id }) => {
      home.checkLock();
      const snapshot = await home.fresh();
      const bundle = snapshot.catalogue.trustBundles.find(({ metadata }) => metadata.name === id);
      if (bundle === undefined) return GONE;
      // Told of its files as they are: a target that cannot be written does not keep the others from being told.
      const tell = async (): Promise<Instant | undefined> =>
        isStatic(bundle)
          ? home.hooks.tend(await home.fresh(), hooksIn(snapshot.catalogue).filter(isOf(bundle)))
          : undefined;
      let acted = false;
      try {
        acted = await reconcileStaticBundle(home, snapshot, bundle);
      } catch (error) {
        await tell();
        throw error;
      }
      tellRepairs(home, on, [], targetsOf(bundle, snapshot.catalogue));
      const again = await tell();
      return { requeueAt: instant(Math.min(again ?? Number.POSITIVE_INFINITY, backstop())), acted };
    },
    Authority: async ({ id }) => {
      home.checkLock();
      if (!(await home.fresh()).catalogue.authorities.has(id)) return GONE;
      await home.checkClock([id]);
      if (home.clock instanceof SteadyClock) await home.clock.save();
      const latest = backstop();
      const outcome = await reconcile(home, id);
      const { plan, observation } = outcome;
      await home.seenConsumers.save(id, observation.seen.consumers);
      const { leaves, bundles } = observation.responsibilities;
      tellRepairs(home, on, driftedIn(observation, plan), [...leaves.keys(), ...bundles.keys()]);
      for (const event of eventsOf(outcome)) on(event);
      const obstacles = [...observation.stored].flatMap(([object, { obstacle }]) =>
        obstacle === undefined ? [] : [obstacleError(object, obstacle)],
      );
      const unmade = [...observation.outputs].flatMap(([object, outputs]) =>
        'missing' in outputs ? [obstacleError(object, outputs.missing)] : [],
      );
      return {
        requeueAt: instant(Math.min(againFor(outcome), latest)),
        acted: plan.actions.length > 0,
        obstacles: [
          ...obstacles,
          ...unmade,
          ...home.objects.planted(observation.stored.keys()),
          ...unknownLeaves(observation.responsibilities),
        ],
      };
    },
  });
};

/** When an authority is looked at again. */
export const againFor = ({ requeueAt, plan, observation }: AuthorityOutcome): number => {
  const { now, responsibilities } = observation;
  const soonest = plan.actions.length > 0 ? now : now + REST_MS;
  const times = [Math.max(requeueAt ?? Number.POSITIVE_INFINITY, soonest)];
  const [blocker] = plan.blockedBy;
  if (blocker !== undefined && responsibilities.authority.spec.consumers.length > 0)
    times.push(now + askAgainMs(now - blocker.since));
  return Math.min(...times);
};

/** Hooks may call for a pass, which may call for hooks: mint, activate and retire. The bound only keeps a bug from spinning. */
const MOST_ROUNDS = 8;

/**
 * One pass over everything, or over `keys`, until there is nothing to do at this moment, hooks included. Throws the first failure,
 * after trying the rest. A hook that failed is no failure of the pass.
 */
export async function passOnce(
  home: DirectoryHome,
  catalogue: Catalogue,
  on: Listener,
  keys: readonly ResourceKey[] = keysOf(catalogue),
): Promise<void> {
  home.hooks.onEnd = (_, hook) => on({ kind: 'hooked', hook, isNew: true });
  await rememberResources(home.files, home.path);
  await home.rememberDeclared();
  let failure: unknown;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const failed = await passOver(home, on, keys);
    failure ??= failed;
    if (!(await home.hooks.idle())) break;
  }
  if (failure !== undefined) throw failure;
}

/** Documents that are wrong, as errors. */
const frozenIn = ({ path }: DirectoryHome, { frozen = [] }: Catalogue): readonly HandoverError[] =>
  frozen.map(
    ({ code, message }) =>
      new EngineError(code === 'YAML_INVALID' ? code : 'RESOURCE_INVALID', message, { path }),
  );

const NAMED = 3;
/** Several obstacles as one error, which names the first of them. */
const inOne = (obstacles: readonly HandoverError[]): HandoverError | undefined => {
  const [first, second] = obstacles;
  if (first === undefined || second === undefined) return first;
  const more = obstacles.length > NAMED ? `; and ${obstacles.length - NAMED} more` : '';
  const named = obstacles.slice(0, NAMED).map(({ message }) => message);
  const code = isCode(first, 'YAML_INVALID')
    ? 'YAML_INVALID'
    : isCode(first, 'RESOURCE_INVALID')
      ? 'RESOURCE_INVALID'
      : 'OBJECT_OBSTACLE';
  return new EngineError(code, `${named.join('; ')}${more}`, { retry: 'later', cause: first });
};

/** Throws if a document is wrong: its resources stay as they were last declared. */
export const refuseFrozen = (home: DirectoryHome, catalogue: Catalogue): void => {
  const wrong = inOne(frozenIn(home, catalogue));
  if (wrong !== undefined) throw wrong;
};

/** The first failure, after trying the rest. */
async function passOver(home: DirectoryHome, on: Listener, keys: readonly ResourceKey[]): Promise<unknown> {
  let failure: unknown;
  const reconcilers = reconcilersOf(home, on);
  for (const key of keys) {
    const pass = reconcilers[key.kind] as (key: ResourceKey) => Promise<Result>;
    // An object that cannot be written is left out of the passes that follow.
    for (let failures = 0; failures < MOST_FAILURES; failures++) {
      try {
        const { obstacles = [] } = await untilQuiet(
          () => pass(key),
          ({ acted = false }) => acted,
        );
        const obstacle = inOne(obstacles);
        if (obstacle !== undefined) throw obstacle;
        break;
      } catch (error) {
        if (failures > 0) continue;
        on({ kind: 'failed', what: keyText(key), error, retryAt: undefined });
        failure ??= error;
      }
    }
  }
  return failure;
}

/** What a hook tells of: its end may let them go on. */
const keysFor = (hook: Hook): readonly ResourceKey[] => [
  ...hook.authorities.map((id) => ({ kind: 'Authority', id }) as const),
  ...(hook.bundle === undefined ? [] : [{ kind: 'TrustBundle', id: hook.bundle } as const]),
];

/** Runs the directory until `signal`, and ends after the write under way. The caller holds the lock. */
export async function runDirectory(home: DirectoryHome, on: Listener, signal: AbortSignal): Promise<void> {
  const load = async (): Promise<Result> => {
    const catalogue = home.load();
    // First: a write below that fails must not leave keys of the resources before.
    controller.setDesiredKeys(keysOf(catalogue));
    home.runRecord.keepOnly(new Set([RESOURCES, ...keysOf(catalogue)].map(keyText)));
    on({ kind: 'loaded', catalogue });
    const hooks = hooksIn(catalogue);
    for (const hook of hooks) {
      const record = home.hookRecords.read(hook);
      if (record?.last !== undefined)
        on({ kind: 'hooked', hook: hookStatus(hook, record, new Map()), isNew: false });
    }
    await home.hookRecords.keepOnly(hooks);
    await rememberResources(home.files, home.path);
    await home.rememberDeclared();
    home.objects.tryAgain();
    return { requeueAt: undefined, obstacles: frozenIn(home, catalogue) };
  };
  const recordedLoad = async (): Promise<Result> => {
    try {
      const result = await load();
      await home.runRecord.ended('resources', result.obstacles ?? []);
      return result;
    } catch (error) {
      if (!isLockLost(error)) await home.runRecord.ended('resources', [error]);
      throw error;
    }
  };
  const controller = new Controller({
    timers: home.timers,
    clock: home.clock,
    meters: home.meters,
    limits: PLACES,
    on: (event) => {
      // Without the lock another process works here: the run ends.
      if (event.kind === 'failed' && isLockLost(event.error)) throw event.error;
      on(event);
    },
    reconcilers: { ...reconcilersOf(home, on), Resources: recordedLoad },
  });
  home.hooks.onEnd = (hook, status) => {
    on({ kind: 'hooked', hook: status, isNew: true });
    controller.add(keysFor(hook));
  };
  await load();
  await home.files.makeDirectory(`${home.state}/requests`, 0o700);
  await home.files.makeDirectory(home.hookRequests.root, 0o700);
  const watchers = [
    watchNames(home.path, (name) => {
      if (name === undefined || /\.ya?ml$/.test(name)) controller.add([RESOURCES], DEBOUNCE_MS);
    }),
    watchNames(`${home.state}/requests`, () =>
      controller.add([...controller.kept].filter(({ kind }) => kind === 'Authority')),
    ),
    watchNames(home.hookRequests.root, () => controller.add(controller.kept)),
  ];
  // The queue counts in the clock's own time: set back, it would sleep until that time comes again.
  let steadySince = home.clock.steadySince();
  const lookAtClock = (): void => {
    const since = home.clock.steadySince();
    if (since === steadySince) return;
    steadySince = since;
    controller.add([RESOURCES, ...controller.kept]);
  };
  const clockWatch = home.timers.every(LOOK_AT_CLOCK_MS, () => {
    try {
      lookAtClock();
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error; // a disk that fails is told by the next pass
    }
  });
  // A pass under way goes on without what it waits for.
  signal.addEventListener('abort', home.far.stop, { once: true });
  try {
    await controller.run(signal);
  } finally {
    signal.removeEventListener('abort', home.far.stop);
    clockWatch.cancel();
    for (const watcher of watchers) watcher?.close();
    await home.hooks.stop();
  }
}

const isLockLost = (error: unknown): boolean => isCode(error, 'HOME_LOCK_LOST');

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
