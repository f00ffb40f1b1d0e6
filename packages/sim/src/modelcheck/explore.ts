import { plan as realPlan, waitingText } from '@handover/core';
import { isAnswered, violationOf } from './invariants.ts';
import { type ModelWorld, normaliser, type State } from './model.ts';
import { movesFrom, type PlannerUnderCheck, planFor } from './moves.ts';
import type { Oracle } from './oracle.ts';
import { SharedParts } from './parts.ts';

export interface Exploration {
  readonly world: string;
  readonly states: number;
  /** The first violation found, with the moves that lead to it. */
  readonly violation: { readonly what: string; readonly trace: readonly string[] } | undefined;
}

/** Every interleaving of a world, breadth first, so that a violation comes with a shortest trace. */
export const explore = (
  world: ModelWorld,
  oracle: Oracle,
  planner: PlannerUnderCheck = realPlan,
  limit = 2_000_000,
): Exploration => {
  const parts = new SharedParts();
  const normalise = normaliser(world);
  const ids = new Map<string, number>();
  const parents: number[] = [];
  const labels: string[] = [];
  const benign: number[][] = [];
  const quiet: number[] = [];
  const start = normalise(world.initial);
  let queue: { id: number; state: State }[] = [];
  const fail = (what: string, id: number, last: readonly string[] = []): Exploration => {
    const trace: string[] = [...last];
    for (let at = id; at > 0; at = parents[at] ?? 0) trace.unshift(labels[at] ?? '');
    return { world: world.name, states: ids.size, violation: { what, trace } };
  };
  const visit = (state: State, parent: number, label: string): number => {
    const key = parts.nameOf(state);
    const known = ids.get(key);
    if (known !== undefined) return known;
    const id = ids.size;
    ids.set(key, id);
    parents[id] = parent;
    labels[id] = label;
    benign[id] = [];
    queue.push({ id, state: parts.shared(state) });
    return id;
  };
  visit(start, 0, '');
  while (queue.length > 0) {
    const layer = queue;
    queue = [];
    for (const { id, state } of layer) {
      const what = violationOf(world, state, oracle);
      if (what !== undefined) return fail(what, id);
      let moved = false;
      for (const move of movesFrom(world, state, planner)) {
        const next = visit(normalise(move.state), id, move.label);
        if (move.benign && next !== id) {
          moved = true;
          benign[next]?.push(id);
        }
      }
      if (!moved) {
        const plan = planFor(world, state, planner);
        if (!isAnswered(world, state, plan))
          return fail(
            `nothing moves in ${plan.phase}: ${waitingText(plan.blockedBy) || 'the plan names no blocker'}`,
            id,
          );
        quiet.push(id);
      }
    }
    if (ids.size > limit) throw new Error(`world ${world.name} has more than ${limit} states`);
  }
  const stuck = unreached(benign, quiet);
  if (stuck !== undefined) return fail('after all faults, it neither ends nor names a blocker', stuck);
  return { world: world.name, states: ids.size, violation: undefined };
};

/** A state from which no quiet one can be reached without faults; `back`: the benign moves, reversed. */
const unreached = (back: readonly (readonly number[])[], quiet: readonly number[]): number | undefined => {
  const reached = new Uint8Array(back.length);
  const stack = [...quiet];
  for (const id of quiet) reached[id] = 1;
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    for (const from of back[id] ?? []) {
      if (reached[from] === 1) continue;
      reached[from] = 1;
      stack.push(from);
    }
  }
  const stuck = reached.indexOf(0);
  return stuck === -1 ? undefined : stuck;
};
