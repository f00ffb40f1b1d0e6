import type { Instant } from '@handover/material';
import { type Generation, withRole } from './authority.ts';
import { elsewhereIn } from './borders.ts';
import { Clock } from './clock.ts';
import { type Finding, holds, isRidOf, type PlanningContext, serves } from './evidence.ts';
import type { EvidenceKind } from './evidence-kind.ts';
import { strictness } from './gate-mode.ts';
import { readersOf, unread } from './gates.ts';
import type { ConsumerSeen, Observed } from './observed.ts';
import type { Policy } from './policy.ts';
import { weakestOf } from './standing.ts';
import type { Transition } from './transition.ts';

/** A consumer's evidence when a step was taken; `none`: the step was taken without it, and its reason says why. */
export interface Shown {
  readonly consumer: string;
  readonly by: EvidenceKind | 'none';
  readonly at: Instant | undefined;
}

type Ask = (consumer: ConsumerSeen, object: string) => Finding;

/** The questions of the gate in front of a step. */
interface Questions {
  readonly trust: readonly Ask[];
  readonly leaf: readonly Ask[];
}

const questionsFor = (
  context: PlanningContext,
  seen: Observed,
  current: Generation,
  step: Transition,
): Questions | undefined => {
  const strictly = { settled: false, cross: false };
  const trusts: Ask = (consumer, object) => holds(context, consumer, object, current, strictly);
  const shows: Ask = (consumer, object) => serves(context, consumer, object, current);
  switch (step.kind) {
    case 'mint':
    case 'drop':
    case 'record-issuance':
    case 'distrust':
      return undefined; // no gate: a person or the schedule requested it
    case 'activate': {
      const next = context.state.generations.find(({ number }) => number === step.generation);
      if (next === undefined) return undefined;
      const covered = strictness(seen, current) === undefined;
      const admits = { settled: covered, cross: covered };
      return { trust: [(consumer, object) => holds(context, consumer, object, next, admits)], leaf: [] };
    }
    case 'retire':
      return { trust: [trusts], leaf: [shows] };
    case 'distrust-done': {
      const gone = context.state.generations.filter(({ number }) => step.generations.includes(number));
      return {
        trust: [(consumer, object) => isRidOf(context, consumer, object, gone), trusts],
        leaf: [shows],
      };
    }
    default:
      return step satisfies never;
  }
};

/** Every consumer's weakest evidence when a step was taken. For people: no step rests on it. */
export const shownFor = (
  seen: Observed,
  policy: Policy,
  now: Instant,
  step: Transition,
): readonly Shown[] => {
  const state = seen.authority;
  const current = state === undefined ? undefined : withRole(state, 'current');
  if (state === undefined || current === undefined) return [];
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const context: PlanningContext = {
    state,
    policy,
    clock: new Clock(now, seen.steadySince),
    objects,
    elsewhere: elsewhereIn(seen, policy),
  };
  const asks = questionsFor(context, seen, current, step);
  if (asks === undefined) return [];
  const shown = (consumer: string, findings: readonly Finding[]): readonly Shown[] => {
    if (findings.length === 0) return [];
    const { by = 'none', at } = weakestOf(findings);
    return [{ consumer, by, at }];
  };
  const presented = new Set(seen.consumers.flatMap(({ presents }) => presents));
  // Where readers are declared, an object without one rests on the time since its write.
  const unclaimed = policy.consumersFound
    ? []
    : policy.leaves
        .map(({ object }) => object)
        .filter((object) => objects.has(object) && !presented.has(object));
  return [
    ...seen.consumers.flatMap((consumer) =>
      shown(consumer.id, [
        ...consumer.verifies.flatMap((object) => asks.trust.map((ask) => ask(consumer, object))),
        ...consumer.presents.flatMap((object) => asks.leaf.map((ask) => ask(consumer, object))),
      ]),
    ),
    ...unread(context, seen).flatMap((object) =>
      shown(
        `readers of ${object}`,
        asks.trust.map((ask) => ask(readersOf(object), object)),
      ),
    ),
    ...unclaimed.flatMap((object) =>
      shown(
        `servers that present ${object}`,
        asks.leaf.map((ask) => ask(readersOf(object), object)),
      ),
    ),
  ];
};
