import type { Instant } from '@handover/material';
import { type AuthorityState, type Generation, withRole } from './authority.ts';
import { Clock } from './clock.ts';
import type { World } from './evidence.ts';
import { expiryNotes, rotationDueAt } from './expiry.ts';
import { type Blocker, distrustGate, gateOne, gateTwo, type Mood, moodOf } from './gates.ts';
import type { Observed } from './observed.ts';
import type { Policy } from './policy.ts';
import { type StampAction, stampsFor } from './rollouts.ts';
import { distrustOf, type Transition, vouches } from './transition.ts';
import { type BundleWrite, type LeafWrite, type Note, writesFor } from './writes.ts';

export type Phase = 'Stable' | 'Introducing' | 'Activating' | 'Retiring';

/** One compare-and-swap of the authority; it lands only on the revision it was decided on. */
export type Swap = Transition & {
  readonly expect: number | undefined;
  readonly revision: number;
  readonly why: string;
};

export type Action = BundleWrite | LeafWrite | StampAction | Swap;

/** Either writes, or stamps, or exactly one swap, or nothing: then `blockedBy` says who holds the next step up. */
export interface Plan {
  readonly phase: Phase;
  readonly actions: readonly Action[];
  readonly blockedBy: readonly Blocker[];
  readonly notes: readonly Note[];
  /** When to plan again even if nothing changes. */
  readonly wakeAt: Instant | undefined;
}

/** What to do now. No I/O, no clock, no randomness: everybody who asks gets the same answer. */
export const plan = (seen: Observed, policy: Policy, now: Instant): Plan => {
  const clock = new Clock(now, seen.steadySince);
  const state = seen.authority;
  const answer = (part: Partial<Plan>): Plan => ({
    phase: phaseOf(state, seen, policy),
    actions: [],
    blockedBy: [],
    notes: [],
    wakeAt: clock.wakeAt,
    ...part,
  });
  if (state === undefined) {
    const { orphaned = [] } = seen;
    return orphaned.length > 0
      ? answer({
          blockedBy: orphaned.map(({ object, waitsFor }) => ({ consumer: object, waitsFor, since: now })),
        })
      : answer({ actions: [beginning(seen)] });
  }

  const ahead = seen.objects.filter((object) => (object.revision ?? 0) > state.revision);
  if (ahead.length > 0) {
    const waitsFor = `an authority as new as it: this one is at revision ${state.revision}, as if restored from a backup`;
    return answer({ blockedBy: ahead.map((object) => ({ consumer: object.id, waitsFor, since: now })) });
  }

  const world: World = {
    state,
    policy,
    clock,
    objects: new Map(seen.objects.map((object) => [object.id, object])),
  };
  const swap = (transition: Transition, why: string): Plan =>
    answer({ actions: [{ ...transition, expect: state.revision, revision: state.revision + 1, why }] });

  const distrust = distrustOf(state, seen.distrust, clock);
  if (distrust !== undefined) return swap(distrust, 'somebody asked for it to be distrusted');

  const mood = moodOf(world, seen);
  const notes: Note[] = [...moodNotes(world, mood), ...expiryNotes(world)];
  const next = withRole(state, 'next');
  const current = withRole(state, 'current');
  const instantly = policy.strategy === 'Instant' && mood.strict === undefined && !policy.paused;
  if (next !== undefined && current !== undefined && instantly) {
    return swap(
      activation(next, current, clock),
      'the strategy is Instant, and X vouches for the new CA everywhere',
    );
  }

  const { writes, notes: writeNotes } = writesFor(world);
  notes.push(...writeNotes);
  if (writes.length > 0) return answer({ actions: writes, notes });

  const { stamps, notes: stampNotes } = stampsFor(world, seen, mood);
  notes.push(...stampNotes);
  if (stamps.length > 0) return answer({ actions: stamps, notes });

  const step = nextStep(world, seen, mood);
  const held: readonly Blocker[] =
    step?.blockedBy.length === 0 && policy.paused && step.transition.kind !== 'distrust-done'
      ? [{ consumer: 'rotation.paused', waitsFor: 'it to be false', since: now }]
      : (step?.blockedBy ?? []);
  if (step === undefined || held.length > 0) return answer({ blockedBy: held, notes, wakeAt: clock.wakeAt });
  return { ...swap(step.transition, step.why), notes };
};

interface Step {
  readonly transition: Transition;
  readonly why: string;
  readonly blockedBy: readonly Blocker[];
}

/** The one transition that is due, with the false terms of its guard. */
const nextStep = (world: World, seen: Observed, mood: Mood): Step | undefined => {
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
  if (next !== undefined) {
    const blockedBy = gateOne(world, seen, next, mood);
    const missing = blockedBy.length > 0 ? [] : gateOne(world, seen, next, calm(mood));
    return {
      transition: activation(next, current, clock),
      why: opened(mood, missing) ?? `every verifier holds generation ${next.number}`,
      blockedBy,
    };
  }
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

const activation = (next: Generation, current: Generation, clock: Clock): Transition => ({
  kind: 'activate',
  generation: next.number,
  crossBy: vouches(current, clock) ? current.number : undefined,
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

/** The first generation; or, around CAs that are already in use, an adopted one and its successor. */
const beginning = (seen: Observed): Swap => {
  const [first, ...rest] = seen.adoptable;
  const adoptsKey = first !== undefined && seen.adoptableKey === true;
  // A stamp in another namespace is a claim.
  const stamped = seen.consumers
    .filter(({ blocks }) => blocks)
    .flatMap((consumer) => [
      consumer.workload?.stamp?.trust ?? 0,
      ...consumer.instances.map((instance) => instance.stamp?.trust ?? 0),
    ]);
  // Lost state: numbers and revisions go on from what is out there, because both only move forward.
  const generation = Math.max(0, ...stamped) + 1;
  const revision = Math.max(0, ...seen.objects.map((object) => object.revision ?? 0)) + 1;
  const adopts = first === undefined ? undefined : ([first, ...rest] as const);
  if (adoptsKey && adopts !== undefined) {
    const why = 'its owner asked to take over a CA with its key';
    return {
      kind: 'mint',
      generation,
      as: 'current',
      id: undefined,
      adopts,
      adoptsKey,
      expect: undefined,
      revision,
      why,
    };
  }
  return {
    kind: 'mint',
    generation,
    as: adopts === undefined ? 'current' : 'next',
    id: adopts === undefined ? undefined : `schedule-${generation - 1}`,
    adopts,
    expect: undefined,
    revision,
    why:
      adopts === undefined
        ? 'there is no authority yet'
        : 'CAs without their keys are in use: they stay trusted',
  };
};

/** Read off the roles, and in the end off the objects; never off evidence. */
export const phaseOf = (
  state: AuthorityState | undefined,
  seen: Pick<Observed, 'objects'>,
  policy: Pick<Policy, 'leaves' | 'bundles'>,
): Phase => {
  if (state === undefined) return 'Stable';
  if (withRole(state, 'next') !== undefined) return 'Introducing';
  if (withRole(state, 'previous') !== undefined) return 'Activating';
  if (withRole(state, 'distrusted') !== undefined) return 'Retiring';
  const managed = new Set([...policy.leaves, ...policy.bundles].map(({ object }) => object));
  const behind = seen.objects.some(
    (object) => managed.has(object.id) && (object.revision ?? 0) < state.revision,
  );
  return behind ? 'Retiring' : 'Stable';
};

const moodNotes = (world: World, mood: Mood): Note[] => {
  const notes: Note[] = [];
  if (mood.strict !== undefined && world.policy.strategy === 'Instant') {
    notes.push({ code: 'InstantBecamePhased', object: 'rotation', message: mood.strict });
  }
  if (mood.late) {
    notes.push({
      code: 'DeadlinePassed',
      object: 'rotation',
      message: 'the old CA is close to its end, so that nobody is waited for before the new one signs',
    });
  }
  return notes;
};
