import { type AuthorityState, type Generation, withRole } from './authority.ts';
import { onUnseenChains } from './chains.ts';
import type { PlanningContext } from './evidence.ts';
import { rotationDueAt } from './expiry.ts';
import type { GateMode } from './gate-mode.ts';
import { type Blocker, distrustGate, gateOne, gateTwo, overtakenAtGateOne } from './gates.ts';
import type { Observed } from './observed.ts';
import { dropDue, neededFor } from './retained.ts';
import { isValidYet, type Transition, vouches } from './transition.ts';
import { listed } from './waiting.ts';

export interface Step {
  readonly transition: Transition;
  readonly why: string;
  readonly blockedBy: readonly Blocker[];
}

/** The one transition that is due, with the false terms of its guard. */
export const nextStep = (context: PlanningContext, seen: Observed, mode: GateMode): Step | undefined => {
  const { state, clock } = context;
  const current = withRole(state, 'current');
  if (current === undefined) return undefined;
  const distrusted = state.generations.filter((generation) => generation.role === 'distrusted');
  if (distrusted.length > 0) {
    return {
      transition: { kind: 'distrust-done', generations: distrusted.map((generation) => generation.number) },
      why: 'no verifier holds it any more',
      blockedBy: distrustGate(context, seen, current, distrusted),
    };
  }
  // It is no part of a rotation, and waits for none.
  const drop = context.policy.paused || clock.doubt !== undefined ? undefined : dropDue(context, seen);
  if (drop !== undefined) return { ...drop, blockedBy: [] };
  const next = withRole(state, 'next');
  if (next !== undefined && !isValidYet(next, clock)) return replacing(state, next);
  if (next !== undefined) {
    const blockedBy = gateOne(context, seen, next, mode);
    const missing = blockedBy.length > 0 ? [] : gateOne(context, seen, next, calm(mode));
    const isTaken = blockedBy.length === 0 && mode.strict === undefined;
    const doubt = isTaken ? onUnseenChains(context, seen, next) : undefined;
    const reason = `every verifier ${doubt === undefined ? 'holds' : 'accepts'} CA generation ${next.number}`;
    return {
      transition: activation(context, next, current),
      why:
        (opened(mode, missing) ?? reason) +
        overtaken(overtakenAtGateOne(context, seen, next, mode)) +
        (doubt === undefined ? '' : `; ${doubt}`),
      blockedBy,
    };
  }
  if (!isValidYet(current, clock)) return replacing(state, current);
  const previous = withRole(state, 'previous');
  if (previous !== undefined) {
    const blockedBy = gateTwo(context, seen, current, mode);
    const missing = blockedBy.length > 0 ? [] : gateTwo(context, seen, current, calm(mode));
    const retain = neededFor(context, previous);
    return {
      transition: {
        kind: 'retire',
        generation: previous.number,
        ...(retain === undefined ? {} : { retain }),
      },
      why:
        opened(mode, missing) ??
        `every presenter serves a leaf of CA generation ${current.number}, and every verifier holds that CA`,
      blockedBy,
    };
  }
  const reason = rotationDue(context, seen, current);
  if (reason === undefined) return undefined;
  return {
    transition: {
      kind: 'mint',
      generation: state.lastGeneration + 1,
      as: 'next',
      id: reason.id,
      adopts: undefined,
    },
    why: reason.why,
    blockedBy: [],
  };
};

/** The gate as if it were in time: what blocks it then was skipped. */
const calm = (mode: GateMode): GateMode => ({ ...mode, late: false, impatient: false });

/** Why a gate is open although consumers are missing; undefined: none is. */
const opened = (mode: GateMode, missing: readonly Blocker[]): string | undefined => {
  const names = [...new Set(missing.map(({ consumer }) => consumer))];
  if (names.length === 0) return undefined;
  const reason = mode.late ? 'the deadline has passed' : 'patience has passed and onBlocked is Proceed';
  return `${reason}, although ${listed(names, 3)} did not confirm`;
};

const overtaken = (names: readonly string[]): string =>
  names.length === 0 ? '' : `, but ${listed(names, 3)} in other namespaces did not confirm in time`;

/** The old CA cross-signs the new one; when the old CA is not valid yet, the one before it does. */
export const activation = (
  { state, clock }: PlanningContext,
  next: Generation,
  current: Generation,
): Transition => ({
  kind: 'activate',
  generation: next.number,
  crossBy: [current, withRole(state, 'previous')].find((one) => one && vouches(one, clock))?.number,
});

/** Peers refuse a CA that was created while the clock was ahead: another one replaces it, in any phase. */
const replacing = ({ lastGeneration }: AuthorityState, { number, role }: Generation): Step => ({
  transition: {
    kind: 'mint',
    generation: lastGeneration + 1,
    as: 'next',
    id: undefined,
    adopts: undefined,
    ...(role === 'next' ? { replaces: number } : {}),
  },
  why: `CA generation ${number} is not valid yet: it was created while the clock was ahead`,
  blockedBy: [],
});

/** The rotation that is requested or due, under an id that has not been used. */
const rotationDue = (
  context: PlanningContext,
  seen: Observed,
  current: Generation,
): { id: string; why: string } | undefined => {
  const { state, policy, clock } = context;
  const asked = seen.rotate.find((id) => !state.ids.includes(id));
  if (asked !== undefined) return { id: asked, why: `rotation ${asked} was requested` };
  // A distrusted `next` uses up the id of its rotation: the count keeps the schedule alive.
  const id = `schedule-${current.number}${state.distrusts === 0 ? '' : `-${state.distrusts}`}`;
  if (state.ids.includes(id)) return undefined;
  if (!current.hasKey) return { id, why: `CA generation ${current.number} was adopted without its key` };
  return clock.reached(rotationDueAt(current, policy))
    ? { id, why: `CA generation ${current.number} is due by its schedule` }
    : undefined;
};
