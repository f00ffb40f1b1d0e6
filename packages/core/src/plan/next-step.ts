import { type AuthorityState, type Generation, withRole } from './authority.ts';
import type { World } from './evidence.ts';
import { rotationDueAt } from './expiry.ts';
import { type Blocker, distrustGate, gateOne, gateTwo, type Mood } from './gates.ts';
import type { Observed } from './observed.ts';
import { isValidYet, type Transition, vouches } from './transition.ts';

export interface Step {
  readonly transition: Transition;
  readonly why: string;
  readonly blockedBy: readonly Blocker[];
}

/** The one transition that is due, with the false terms of its guard. */
export const nextStep = (world: World, seen: Observed, mood: Mood): Step | undefined => {
  const { state, clock } = world;
  const current = withRole(state, 'current');
  if (current === undefined) return undefined;
  const distrusted = state.generations.filter((generation) => generation.role === 'distrusted');
  if (distrusted.length > 0) {
    return {
      transition: { kind: 'distrust-done', generations: distrusted.map((generation) => generation.number) },
      why: 'nobody holds it any more',
      blockedBy: distrustGate(world, seen, current, distrusted),
    };
  }
  const next = withRole(state, 'next');
  if (next !== undefined && !isValidYet(next, clock)) return replacing(state, next);
  if (next !== undefined) {
    const blockedBy = gateOne(world, seen, next, mood);
    const missing = blockedBy.length > 0 ? [] : gateOne(world, seen, next, calm(mood));
    return {
      transition: activation(world, next, current),
      why: opened(mood, missing) ?? `every verifier holds generation ${next.number}`,
      blockedBy,
    };
  }
  if (!isValidYet(current, clock)) return replacing(state, current);
  const previous = withRole(state, 'previous');
  if (previous !== undefined) {
    const blockedBy = gateTwo(world, seen, current, mood);
    const missing = blockedBy.length > 0 ? [] : gateTwo(world, seen, current, calm(mood));
    return {
      transition: { kind: 'retire', generation: previous.number },
      why:
        opened(mood, missing) ??
        `every presenter serves generation ${current.number} and every verifier holds it`,
      blockedBy,
    };
  }
  const reason = rotationDue(world, seen, current);
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

/** As if there were no hurry: who is missing then, was not waited for. */
const calm = (mood: Mood): Mood => ({ ...mood, late: false, impatient: false });

/** Why a gate stands open although somebody is missing; undefined: nobody is. */
const opened = (mood: Mood, missing: readonly Blocker[]): string | undefined => {
  const names = [...new Set(missing.map(({ consumer }) => consumer))];
  if (names.length === 0) return undefined;
  const reason = mood.late ? 'the deadline is over' : 'patience is over and onBlocked is Proceed';
  const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
  return `${reason}, though ${names.slice(0, 3).join(', ')}${more} did not confirm`;
};

/** The old CA vouches for the new one; where it cannot, because it is not valid yet, the one before does. */
export const activation = ({ state, clock }: World, next: Generation, current: Generation): Transition => ({
  kind: 'activate',
  generation: next.number,
  crossBy: [current, withRole(state, 'previous')].find((one) => one && vouches(one, clock))?.number,
});

/** A CA that was made while the clock was ahead is accepted nowhere: another one comes, whatever else is under way. */
const replacing = ({ lastGeneration }: AuthorityState, { number, role }: Generation): Step => ({
  transition: {
    kind: 'mint',
    generation: lastGeneration + 1,
    as: 'next',
    id: undefined,
    adopts: undefined,
    ...(role === 'next' ? { replaces: number } : {}),
  },
  why: `generation ${number} is not valid yet: it was made while the clock was ahead`,
  blockedBy: [],
});

/** The rotation that is asked for or due, under an id that has not been used. */
const rotationDue = (
  world: World,
  seen: Observed,
  current: Generation,
): { id: string; why: string } | undefined => {
  const { state, policy, clock } = world;
  const asked = seen.rotate.find((id) => !state.ids.includes(id));
  if (asked !== undefined) return { id: asked, why: `rotation ${asked} was asked for` };
  // A distrusted `next` uses up the id of its rotation: the count keeps the schedule alive.
  const id = `schedule-${current.number}${state.distrusts === 0 ? '' : `-${state.distrusts}`}`;
  if (state.ids.includes(id)) return undefined;
  if (!current.hasKey) return { id, why: `generation ${current.number} was adopted without its key` };
  return clock.reached(rotationDueAt(current, policy))
    ? { id, why: `generation ${current.number} is due by its schedule` }
    : undefined;
};
