import { after, type Instant, instant } from '@handover/material';
import { type Generation, withRole } from './authority.ts';
import { askedPart, maySpeakOf, ownPart } from './borders.ts';
import {
  type Finding,
  heldSince,
  holds,
  isRidOf,
  isUnborn,
  oldLeavesGone,
  type PlanningContext,
  serves,
} from './evidence.ts';
import type { ConsumerSeen, Observed } from './observed.ts';
import { isValidYet } from './transition.ts';

/** A term of a guard that is not true yet: who, and what would free it. */
export interface Blocker {
  readonly consumer: string;
  readonly waitsFor: string;
  /** Since when the step it holds up has been waiting. */
  readonly since: Instant;
}

/** What may be relaxed, and from when on. */
export interface GateMode {
  /** Gate 1 knows no fallback: X cannot cover a mistake. */
  readonly strict: string | undefined;
  /** `patience` is over. */
  readonly impatient: boolean;
  /** The rotation's deadline is over. */
  readonly late: boolean;
}

/** Why X cannot be relied on, if it cannot. */
export const strictness = (seen: Observed, current: Generation): string | undefined => {
  if (!current.hasKey) return `generation ${current.number} has no key to cross-sign with`;
  const strips = seen.consumers.find((consumer) => consumer.blocks && consumer.stripsCross);
  return strips === undefined ? undefined : `${strips.id} serves its leaf without the cross-certificate`;
};

/**
 * When a step stops waiting for whoever is missing, as a share of what was left of a CA's life when the step began: always
 * before its end. Without X, opening gate 1 fails those who are missing; letting the CA end fails everybody: so late, but with
 * time for leaves to be loaded.
 */
const DEADLINE = { covered: 0.75, strict: 0.95 } as const;

const deadlineOf = (begun: Instant, ca: Generation, share: number): Instant =>
  instant(begun + share * (ca.anchors[0].notAfter - begun));

export const gateModeOf = (context: PlanningContext, seen: Observed): GateMode => {
  const { state, policy, clock } = context;
  const next = withRole(state, 'next');
  const current = withRole(state, 'current');
  const previous = withRole(state, 'previous');
  const [coming, going] = next === undefined ? [current, previous] : [next, current];
  if (coming === undefined || going === undefined)
    return { strict: undefined, impatient: false, late: false };
  const strict = next === undefined ? undefined : strictness(seen, going);
  const share = strict === undefined ? DEADLINE.covered : DEADLINE.strict;
  const deadline = deadlineOf(coming.since, going, share);
  // A CA that is not valid yet is as good as one that has ended: nothing that it signs is accepted.
  const late = clock.reached(deadline) || (next !== undefined && !isValidYet(going, clock));
  return {
    strict,
    impatient: clock.aged(coming.since, policy.patience),
    late: late && clock.doubt === undefined,
  };
};

/** Every (consumer, object) pair that fails `ask`. */
const missing = (
  seen: Observed,
  role: 'verifies' | 'presents',
  since: Instant,
  ask: (consumer: ConsumerSeen, object: string) => Finding,
): Blocker[] => {
  const blockers: Blocker[] = [];
  for (const consumer of seen.consumers) {
    for (const object of consumer[role]) {
      const finding = ask(consumer, object);
      if (finding.ok) continue;
      const why = consumer.silence === undefined ? '' : `; it is not asked: ${consumer.silence}`;
      blockers.push({ consumer: consumer.id, waitsFor: `${finding.waitsFor}${why}`, since });
    }
  }
  return blockers;
};

/** Stands for whoever reads an object without anybody saying so. */
export const somebody = (object: string): ConsumerSeen => ({
  id: `whoever reads ${object}`,
  reload: 'unknown',
  ownersWord: false,
  blocks: true,
  presents: [],
  verifies: [],
  stripsCross: false,
  instances: [],
  workload: undefined,
});

/** Managed objects without a known reader, where readers have to be declared. */
export const unread = (context: PlanningContext, seen: Observed): readonly string[] => {
  if (context.policy.consumersFound) return [];
  const read = new Set(
    seen.consumers.flatMap((consumer) =>
      consumer.verifies.filter((object) => maySpeakOf(context, consumer, object)),
    ),
  );
  // A Secret that cannot be made yet, because an adopted CA signs nothing, has no reader: waiting for one would be for ever.
  const leaves = context.policy.leaves.filter(({ object }) => context.objects.has(object));
  return [...leaves, ...context.policy.bundles]
    .map((policy) => policy.object)
    .filter((object) => !read.has(object));
};

const obstacles = (context: PlanningContext, generation: Generation, since: Instant): Blocker[] =>
  [...context.objects.values()]
    .filter(({ id, obstacle }) => obstacle !== undefined && !context.elsewhere.has(id))
    .filter((object) => heldSince(object, generation) === undefined)
    .map((object) => ({ consumer: object.id, waitsFor: `it to be writable: ${object.obstacle}`, since }));

/** No process can start any more from files that were there before `generation` came into every object. */
const cachesPassed = (context: PlanningContext, generation: Generation): boolean =>
  [...context.objects.values()].every((object) => {
    const since = heldSince(object, generation);
    return since === undefined || context.clock.aged(since, context.policy.cacheLag);
  });

/** Gate 1, trust is out: every known verifier holds `next`. */
export const gateOne = (
  all: PlanningContext,
  view: Observed,
  next: Generation,
  mode: GateMode,
): readonly Blocker[] => {
  const { context, seen } = askedPart(all, view);
  // Where X cannot cover a mistake, only the owner's own word lets time stand for evidence.
  const admits = { settled: mode.strict === undefined, cross: mode.strict === undefined };
  const blockers = [
    ...missing(seen, 'verifies', next.since, (consumer, object) =>
      holds(context, consumer, object, next, admits),
    ),
    ...unread(context, seen).flatMap((object) => {
      const finding = holds(context, somebody(object), object, next, admits);
      return finding.ok
        ? []
        : [{ consumer: `whoever reads ${object}`, waitsFor: finding.waitsFor, since: next.since }];
    }),
    ...obstacles(context, next, next.since),
  ];
  if (mode.strict !== undefined && !cachesPassed(context, next)) {
    blockers.push({
      consumer: 'caches',
      waitsFor: 'files from before the new CA to be out of reach',
      since: next.since,
    });
  }
  if (blockers.length === 0 || mode.late) return [];
  if (mode.strict === undefined && mode.impatient && context.policy.onBlocked === 'Proceed') return [];
  return blockers;
};

/** Everybody presents `current`, everybody trusts it, and no cache can bring an old leaf back. */
const outOfUse = (context: PlanningContext, seen: Observed, current: Generation): Blocker[] => {
  const { clock, policy, objects } = context;
  const since = current.since;
  const blockers = missing(seen, 'presents', since, (consumer, object) =>
    serves(context, consumer, object, current),
  );
  const presented = new Set(
    seen.consumers.flatMap((consumer) =>
      consumer.presents.filter((object) => maySpeakOf(context, consumer, object)),
    ),
  );
  for (const { object } of policy.leaves) {
    const leaf = objects.get(object)?.leaf;
    if (leaf === undefined) {
      if (isUnborn(context, object)) continue;
      blockers.push({ consumer: object, waitsFor: `a leaf of generation ${current.number}`, since });
      continue;
    }
    if (!clock.aged(leaf.writtenAt, policy.cacheLag)) {
      blockers.push({ consumer: object, waitsFor: 'caches of the old leaf to be out of reach', since });
    }
    if (presented.has(object) || oldLeavesGone(context, object, current) !== undefined) continue;
    // Nobody is known to present it, and nothing covers a mistake about a presenter.
    const settled = !policy.consumersFound && clock.aged(leaf.issuerSince, policy.reloadWithin);
    if (!settled) {
      const remedy = policy.consumersFound
        ? 'the old leaf to expire, since nobody is known to use it; say who does, or that nobody does'
        : 'reloadWithin to pass';
      blockers.push({ consumer: object, waitsFor: remedy, since });
    }
  }
  return blockers;
};

const allTrust = (context: PlanningContext, seen: Observed, current: Generation): Blocker[] => {
  const admits = { settled: false, cross: false };
  const blockers = missing(seen, 'verifies', current.since, (consumer, object) =>
    holds(context, consumer, object, current, admits),
  );
  for (const object of unread(context, seen)) {
    const finding = holds(context, somebody(object), object, current, admits);
    if (!finding.ok) {
      blockers.push({
        consumer: `whoever reads ${object}`,
        waitsFor: finding.waitsFor,
        since: current.since,
      });
    }
  }
  if (!cachesPassed(context, current)) {
    blockers.push({
      consumer: 'caches',
      waitsFor: 'files from before the new CA to be out of reach',
      since: current.since,
    });
  }
  return blockers;
};

/** Gate 2, the old one is out of use: every presenter serves `current` and every verifier holds it. */
export const gateTwo = (
  all: PlanningContext,
  view: Observed,
  current: Generation,
  mode: GateMode,
): readonly Blocker[] => {
  const { context, seen } = askedPart(all, view);
  const presenters = outOfUse(context, seen, current);
  if (presenters.length > 0) return [...presenters, ...allTrust(context, seen, current)];
  // No old leaf is left in use. X covers a verifier that has not confirmed, so its owner may choose to go on.
  if (mode.impatient && context.policy.onBlocked === 'Proceed' && everyOldLeafExpired(context, seen, current))
    return [];
  return allTrust(context, seen, current);
};

const everyOldLeafExpired = (context: PlanningContext, seen: Observed, current: Generation): boolean => {
  const objects = [
    ...context.policy.leaves.map((leaf) => leaf.object),
    ...seen.consumers.flatMap((c) => c.presents),
  ];
  return objects.every((object) => oldLeavesGone(context, object, current) !== undefined);
};

/**
 * A distrust is done when nobody holds the generation any more, and all is as in a stable authority. What lies elsewhere has no
 * say in it.
 */
export const distrustGate = (
  all: PlanningContext,
  view: Observed,
  current: Generation,
  distrusted: readonly Generation[],
): readonly Blocker[] => {
  const { context, seen } = ownPart(all, view);
  const since = distrusted[0]?.since ?? after(current.since, 0);
  const rid = (consumer: ConsumerSeen, object: string): Finding =>
    isRidOf(context, consumer, object, distrusted);
  const blockers = missing(seen, 'verifies', since, rid);
  for (const object of unread(context, seen)) {
    const finding = rid(somebody(object), object);
    if (!finding.ok)
      blockers.push({ consumer: `whoever reads ${object}`, waitsFor: finding.waitsFor, since });
  }
  // Who showed a bundle without it may not even have come to the one with it: files of then are still on their way.
  for (const object of context.objects.values()) {
    if (context.clock.aged(object.changedAt, context.policy.reloadWithin)) continue;
    blockers.push({
      consumer: object.id,
      waitsFor: 'files from before the distrust to be out of reach',
      since,
    });
  }
  blockers.push(...outOfUse(context, seen, current), ...allTrust(context, seen, current));
  // A distrust that never ends would keep the current CA from being replaced until it ends too.
  return context.clock.reached(deadlineOf(since, current, DEADLINE.covered)) ? [] : blockers;
};
