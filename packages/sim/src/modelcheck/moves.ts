import { type Action, isElsewhere, type Plan, type plan as realPlan } from '@handover/core';
import { instant } from '@handover/material';
import { modelChain, perform, promiseOf } from './act.ts';
import { lentMoves } from './lent-moves.ts';
import { type Deed, type ModelConsumer, type ModelPod, type ModelWorld, type State, ticks } from './model.ts';
import { besideNeighbour, MODES, staysWritten, TURNS } from './neighbour.ts';
import { natureOf, observeModel, policyOf, sameStamp } from './observe.ts';

export type PlannerUnderCheck = typeof realPlan;

export interface Move {
  readonly label: string;
  readonly state: State;
  /** Faults and requests are not benign: liveness must hold without further ones. */
  readonly benign: boolean;
}

export const planFor = (world: ModelWorld, state: State, planner: PlannerUnderCheck): Plan =>
  planner(besideNeighbour(world, state, observeModel(world, state)), policyOf(world, state), state.now);

/** Everything that can happen next. */
export const movesFrom = (world: ModelWorld, state: State, planner: PlannerUnderCheck): Move[] => {
  const moves: Move[] = [];
  const may = (label: string, next: State | undefined, benign = true): void => {
    if (next !== undefined) moves.push({ label, state: next, benign });
  };
  controllers(world, state, planner, may);
  for (const id of Object.keys(state.consumers)) consumerMoves(world, state, id, may);
  if (mayTick(world, state)) {
    may('time passes', {
      ...state,
      now: instant(state.now + ticks(world, 1)),
      idle: world.timed ? state.idle + 1 : 0,
    });
  }
  lentMoves(world, state, may);
  environment(world, state, may);
  arrivals(world, state, may);
  const turned = world.neighbour === undefined ? undefined : spend(state, 'turns');
  if (turned !== undefined)
    for (const mode of MODES)
      if (mode !== state.mode) may(`the neighbour ${TURNS[mode]}`, { ...turned, mode }, false);
  return moves;
};

export type May = (label: string, next: State | undefined, benign?: boolean) => void;

export const spend = (state: State, what: string): State | undefined => {
  const left = state.budget[what] ?? 0;
  return left === 0 ? undefined : { ...state, budget: { ...state.budget, [what]: left - 1 } };
};

const controllers = (world: ModelWorld, state: State, planner: PlannerUnderCheck, may: May): void => {
  let current: Plan | undefined;
  // Controllers that look at the same state decide the same.
  const planned = (): Plan => (current ??= planFor(world, state, planner));
  state.controllers.forEach((deeds, index) => {
    const set = (next: State, rest: readonly Deed[]): State => ({
      ...next,
      idle: 0,
      views: next.views.map((old, at) => (at === index ? undefined : old)),
      controllers: next.controllers.map((old, at) => (at === index ? rest : old)),
    });
    const name = state.controllers.length === 1 ? 'controller' : `controller ${index}`;
    const [deed, ...rest] = deeds;
    if (deed === undefined) {
      const view = state.views[index];
      if (world.torn === true && view === undefined) {
        const { objects, leaves, consumers } = state;
        const views = state.views.map((old, at) => (at === index ? { objects, leaves, consumers } : old));
        // A look is progress only if there is something to do.
        may(`${name} looks around`, { ...state, views }, planned().actions.length > 0);
        return;
      }
      const seen = view === undefined ? planned() : planFor(world, { ...state, ...view }, planner);
      const decided = seen.actions.map((action): Deed => {
        if (action.kind !== 'stamp') return { action };
        const stamp = state.consumers[action.consumer]?.stamp;
        return stamp === undefined ? { action } : { action, seenStamp: JSON.stringify(stamp) };
      });
      if (decided.some(({ action }) => lands(world, state, action)))
        may(`${name} decides: ${decided.map((d) => d.action.kind).join(', ')}`, set(state, decided));
      else if (state.idle > 0 || view !== undefined) may(`${name} finds nothing to do`, set(state, []));
      return;
    }
    const landed = lands(world, state, deed.action)
      ? perform(world, state, deed.action, deed.seenStamp)
      : undefined;
    // After a conflict it looks again; so it does after a crash, which may come before and after every write.
    // A failure in another namespace is no conflict: the other actions continue.
    const left = isElsewhere(deed.action) ? rest : [];
    may(`${name}: ${deed.action.kind}`, landed === undefined ? set(state, left) : set(landed, rest));
    if (world.timed === undefined) may(`${name} crashes`, set(state, []), false);
  });
};

/** A write that the owner undoes at once, or that never lands, counts as none. */
const lands = (world: ModelWorld, state: State, action: Action): boolean =>
  'object' in action
    ? staysWritten(world, state, action.object)
    : action.kind !== 'stamp' || state.mode === 'honest' || !isElsewhere(action);

const consumerMoves = (world: ModelWorld, state: State, id: string, may: May): void => {
  const consumer = state.consumers[id];
  const nature = natureOf(world, id);
  if (consumer === undefined || nature.hidden === true) return;
  const put = (change: ModelConsumer): State => ({
    ...state,
    consumers: { ...state.consumers, [id]: change },
  });
  const replace = (index: number, pods: readonly ModelPod[]): State =>
    put({
      ...consumer,
      pods: [...consumer.pods.slice(0, index), ...pods, ...consumer.pods.slice(index + 1)],
    });
  const verified = nature.verifies === undefined ? undefined : state.objects[nature.verifies];
  const presented = nature.presents === undefined ? undefined : state.objects[nature.presents];
  const anchors = verified?.anchors.map((held) => held.fingerprint) ?? [];
  const chain = modelChain(presented);

  consumer.pods.forEach((pod, index) => {
    if (pod.ending) may(`a pod of ${id} ends`, replace(index, []));
    if (pod.pending) {
      for (const [how, loaded] of starts(world, state, id))
        may(`a pod of ${id} starts${how}`, replace(index, [{ ...pod, ...loaded }]));
      if (nature.keepsCopy === true)
        may(`a pod of ${id} starts from its own copy`, replace(index, [{ ...pod, pending: false }]));
      return;
    }
    const restarted = spend(state, 'restarts');
    if (restarted !== undefined && !pod.ending) {
      for (const [how, loaded] of starts(world, state, id)) {
        const after = replace(index, [{ ...newPod(state, consumer), ...loaded }]);
        may(`a pod of ${id} is replaced${how}`, { ...after, budget: restarted.budget }, false);
      }
    }
    if (nature.reload === 'restart') {
      if (!pod.ending && !sameStamp(pod, consumer.stamp) && nature.neverReloads !== true) {
        const fresh = newPod(state, consumer);
        if (world.caches === true)
          may(`${id} rolls a pod`, replace(index, [{ ...pod, ending: true }, fresh]));
        else
          for (const [, loaded] of starts(world, state, id))
            may(`${id} rolls a pod`, replace(index, [{ ...fresh, ...loaded }]));
        if (nature.keepsCopy === true)
          may(
            `${id} rolls a pod, which starts from its own copy`,
            replace(index, [{ ...fresh, pending: false, bundle: pod.bundle, chain: pod.chain }]),
          );
      }
      return;
    }
    if (nature.neverReloads === true) return;
    const bundleNew =
      verified !== undefined && (pod.bundle.join() !== anchors.join() || pod.bundleBehind !== undefined);
    const leafNew =
      presented !== undefined &&
      chain.length > 0 &&
      (pod.chain.join() !== chain.join() || pod.leafBehind !== undefined);
    const loadsBundle = { bundle: anchors, bundleBehind: undefined };
    const loadsLeaf = { chain, leafBehind: undefined };
    if (nature.presents === nature.verifies) {
      if (bundleNew || leafNew)
        may(`${id} reloads`, replace(index, [{ ...pod, ...loadsBundle, ...loadsLeaf }]));
    } else {
      if (bundleNew) may(`${id} reloads its bundle`, replace(index, [{ ...pod, ...loadsBundle }]));
      if (leafNew) may(`${id} reloads its leaf`, replace(index, [{ ...pod, ...loadsLeaf }]));
    }
  });
};

const newPod = (state: State, consumer: ModelConsumer): ModelPod => ({
  created: state.now,
  ending: false,
  pending: true,
  stamp: consumer.stamp,
  bundle: [],
  chain: [],
  bundleBehind: undefined,
  leafBehind: undefined,
});

/** What a pod that starts now may read: each object's current content, or that of a cache. */
const starts = (world: ModelWorld, state: State, id: string): [string, Partial<ModelPod>][] => {
  const nature = natureOf(world, id);
  const versions = (
    object: string | undefined,
  ): { anchors: readonly string[]; chain: readonly string[] }[] => {
    const live = object === undefined ? undefined : state.objects[object];
    if (live === undefined) return [{ anchors: [], chain: [] }];
    const now = { anchors: live.anchors.map((held) => held.fingerprint), chain: modelChain(live) };
    return [now, ...live.stale.filter((files) => files.until > state.now)];
  };
  // It cannot start before its objects exist.
  if (
    [nature.presents, nature.verifies].some(
      (object) => object !== undefined && state.objects[object] === undefined,
    )
  )
    return [];
  const together = nature.presents === nature.verifies;
  const found: [string, Partial<ModelPod>][] = [];
  versions(nature.verifies).forEach((bundle, b) => {
    versions(nature.presents).forEach((leaf, l) => {
      if (together && b !== l) return;
      const how = b + l === 0 ? '' : ' from a stale cache';
      found.push([how, { pending: false, bundle: bundle.anchors, chain: leaf.chain }]);
    });
  });
  return found;
};

/** Promises are kept: a consumer that rests on `settled` reloads in time, and a controller looks now and then. */
const mayTick = (world: ModelWorld, state: State): boolean => {
  if (world.timeless === true) return false;
  if (world.timed !== undefined) {
    if (state.now >= world.initial.now + ticks(world, world.timed.end)) return false;
    if (state.idle >= 1 || state.controllers.some((deeds) => deeds.length > 0)) return false;
  }
  const soon = state.now + ticks(world, 1);
  return Object.entries(state.consumers).every(([id, consumer]) => {
    const promise = promiseOf(world, id);
    if (promise === undefined) return true;
    return consumer.pods.every((pod) =>
      [pod.bundleBehind, pod.leafBehind].every((behind) => behind === undefined || soon < behind + promise),
    );
  });
};

/**
 * A workload comes that mounts a Secret whose old leaf was replaced. One that comes earlier speaks for all that read the Secret, by an assumption
 * (docs/assumptions.md).
 */
const arrivals = (world: ModelWorld, state: State, may: May): void => {
  const arrived = spend(state, 'arrivals');
  const isReplaced = state.authority?.generations.some(
    ({ role }) => role === 'previous' || role === 'retained',
  );
  if (arrived === undefined || isReplaced !== true) return;
  for (const id of Object.keys(world.natures)) {
    if (state.consumers[id] !== undefined) continue;
    const pod = newPod(state, { pods: [], stamp: undefined });
    const workload = { pods: [pod], stamp: undefined, created: state.now };
    may(`${id} is deployed`, { ...arrived, consumers: { ...state.consumers, [id]: workload } }, false);
  }
};

const environment = (world: ModelWorld, state: State, may: May): void => {
  const rotations = spend(state, 'rotations');
  if (rotations !== undefined) {
    may(
      'a rotation is asked for',
      { ...rotations, rotate: [...state.rotate, `r${state.rotate.length}`] },
      false,
    );
  }
  const distrusts = spend(state, 'distrusts');
  if (distrusts !== undefined) {
    for (const generation of state.authority?.generations ?? []) {
      if (generation.role === 'distrusted') continue;
      const asked = { ...distrusts, distrust: [...state.distrust, generation.number] };
      may(`${generation.role} generation ${generation.number} is distrusted`, asked, false);
    }
  }
  const renewals = spend(state, 'renewals');
  if (renewals !== undefined) {
    for (const [object, leaf] of Object.entries(state.leaves)) {
      const leaves = { ...state.leaves, [object]: { ...leaf, spec: leaf.spec + 1 } };
      may(`${object} is to be renewed`, { ...renewals, leaves }, false);
    }
  }
  const additions = spend(state, 'additions');
  if (additions !== undefined) {
    const leaves = { ...state.leaves, late: { spec: 0, createdAt: state.now } };
    const pod = newPod(state, { pods: [], stamp: undefined });
    const consumers = { ...state.consumers, latecomer: { pods: [pod], stamp: undefined } };
    may('a Leaf and its consumer appear', { ...additions, leaves, consumers }, false);
  }
  const removals = spend(state, 'removals');
  if (removals !== undefined) {
    for (const [object] of Object.entries(state.leaves)) {
      const { [object]: _gone, ...leaves } = state.leaves;
      may(`the Leaf of ${object} is deleted`, { ...removals, leaves }, false);
    }
  }
  const recreations = spend(state, 'recreations');
  if (recreations !== undefined) {
    for (const nature of Object.values(world.natures)) {
      const { presents } = nature;
      if (presents === undefined || state.leaves[presents] !== undefined) continue;
      const leaves = { ...state.leaves, [presents]: { spec: 0, createdAt: state.now } };
      may(`the Leaf of ${presents} is created again`, { ...recreations, leaves }, false);
    }
  }
  const departures = spend(state, 'departures');
  if (departures !== undefined) {
    for (const [id, consumer] of Object.entries(state.consumers)) {
      const gone = { ...state.consumers, [id]: { ...consumer, pods: [] } };
      may(`${id} is scaled to nothing`, { ...departures, consumers: gone }, false);
    }
  }
  const returns = spend(state, 'returns');
  if (returns !== undefined) {
    for (const [id, consumer] of Object.entries(state.consumers)) {
      if (consumer.pods.length > 0) continue;
      const back = { ...state.consumers, [id]: { ...consumer, pods: [newPod(state, consumer)] } };
      may(`${id} is scaled up again`, { ...returns, consumers: back }, false);
    }
  }
  const deletions = spend(state, 'deletions');
  if (deletions !== undefined) {
    for (const object of Object.keys(state.objects)) {
      const { [object]: _gone, ...objects } = state.objects;
      may(`another program deletes ${object}`, { ...deletions, objects }, false);
    }
  }
  if (state.authority !== undefined && state.backup === undefined) {
    const backups = spend(state, 'backups');
    if (backups !== undefined)
      may('the authority is backed up', { ...backups, backup: state.authority }, false);
  }
  if (state.backup !== undefined) {
    const restores = spend(state, 'restores');
    if (restores !== undefined)
      may('the authority is restored', { ...restores, authority: state.backup }, false);
  }
};
