import { after, type Duration, duration, type Instant, iso } from '@handover/material';
import type { Generation } from './authority.ts';
import { askedPart, ownPart } from './borders.ts';
import { isRolledFirst } from './chains.ts';
import {
  type Finding,
  heldSince,
  holds,
  isRidOf,
  isUnborn,
  lagOf,
  type PlanningContext,
  serves,
} from './evidence.ts';
import { withoutLeaf } from './expected-leaf.ts';
import { DEADLINE, deadlineOf, type GateMode } from './gate-mode.ts';
import type { ConsumerSeen, Observed } from './observed.ts';
import { oldLeavesGone } from './old-leaves.ts';
import { presentersIn, readIn, usedByOthers, whyUnknown } from './readers.ts';
import { awaitedLeaves, lentObjects } from './reissues.ts';
import { type Serving, servings } from './served.ts';
import { lengthOf } from './waiting.ts';

/** A term of a guard that is not true yet: which consumer, and what it has to do. */
export interface Blocker {
  readonly consumer: string;
  /** Read by `waitGroups`: begins with "to", or is a sentence of its own. */
  readonly waitsFor: string;
  /** Since when the step has been waiting. */
  readonly since: Instant;
  /** What the consumer serves meanwhile, read after its name: "shows CA generation 1, web.local, until …, since …". */
  readonly shows?: string;
}

/** What consumers have to do before none of their objects fails `ask`; what several objects call for stands there once. */
const missing = (
  seen: Observed,
  role: 'verifies' | 'presents',
  since: Instant,
  ask: (consumer: ConsumerSeen, object: string) => Finding,
): Blocker[] => {
  const blockers: Blocker[] = [];
  for (const consumer of seen.consumers) {
    const waits = new Set<string>();
    for (const object of consumer[role]) {
      const finding = ask(consumer, object);
      if (!finding.ok) waits.add(finding.waitsFor);
    }
    for (const waitsFor of waits) blockers.push({ consumer: consumer.id, waitsFor, since });
  }
  return blockers;
};

/** Stands for the programs that read an object for which no consumer is declared. */
export const readersOf = (object: string): ConsumerSeen => ({
  id: `readers of ${object}`,
  reload: 'unknown',
  ownersWord: false,
  blocks: true,
  presents: [],
  verifies: [],
  instances: [],
  workload: undefined,
});

/** Managed objects without a known reader, where readers have to be declared. */
export const unread = (context: PlanningContext, seen: Observed): readonly string[] => {
  if (context.policy.consumersFound) return [];
  const read = readIn(context.policy, seen);
  // An adopted CA signs nothing: a Secret that does not exist yet has no reader, and waiting for one would never end.
  const leaves = context.policy.leaves.filter(({ object }) => context.objects.has(object));
  return [...leaves, ...context.policy.bundles]
    .map((policy) => policy.object)
    .filter((object) => !read.has(object));
};

/** What the readers of such objects lack. */
const missingReaders = (
  context: PlanningContext,
  seen: Observed,
  since: Instant,
  ask: (consumer: ConsumerSeen, object: string) => Finding,
): Blocker[] => {
  const readers = unread(context, seen).map((object) => ({ ...readersOf(object), verifies: [object] }));
  return missing({ ...seen, consumers: readers }, 'verifies', since, ask);
};

const obstacles = (context: PlanningContext, generation: Generation, since: Instant): Blocker[] =>
  [...context.objects.values()]
    .filter(({ id, obstacle }) => obstacle !== undefined && !context.elsewhere.has(id))
    .filter((object) => heldSince(object, generation) === undefined)
    .map((object) => ({ consumer: object.id, waitsFor: `to be writable: ${object.obstacle}`, since }));

const longestLag = (context: PlanningContext): Duration =>
  duration(Math.max(context.policy.cacheLag, ...[...context.objects.keys()].map((id) => lagOf(context, id))));

/** No process can start any more from files that were there before `generation` came into every object. */
const cachesPassed = (context: PlanningContext, generation: Generation): boolean =>
  [...context.objects.values()].every((object) => {
    const since = heldSince(object, generation);
    return since === undefined || context.clock.aged(since, lagOf(context, object.id));
  });

const cacheBlocker = (context: PlanningContext, { number, since }: Generation): Blocker => ({
  consumer: 'kubelet caches',
  waitsFor: `waiting up to ${lengthOf(longestLag(context))}: a kubelet may still hand out files from before CA generation ${number}`,
  since,
});

/**
 * Where the home finds consumers by itself, programs that read a bundle through the API or copy it are found by none. The cross-certificate covers
 * them; without it each bundle has readers that have `reloadWithin`.
 */
const hiddenReaders = (context: PlanningContext, next: Generation): Blocker[] => {
  const { policy, objects, clock } = context;
  if (!policy.consumersFound) return [];
  return policy.bundles.flatMap(({ object }): Blocker[] => {
    const since = heldSince(objects.get(object), next);
    if (since === undefined || clock.aged(since, policy.reloadWithin + lagOf(context, object))) return [];
    const waitsFor = `to be loaded: programs that read it unseen have reloadWithin (${lengthOf(policy.reloadWithin)}), because no cross-certificate covers them`;
    return [{ consumer: `readers of ${object}`, waitsFor, since: next.since }];
  });
};

/** Where no cross-certificate covers a mistake, time counts as evidence only by the owner's word. */
const trustOf =
  (context: PlanningContext, next: Generation, mode: GateMode) =>
  (consumer: ConsumerSeen, object: string): Finding => {
    const settled = mode.strict === undefined;
    const cross = settled && !isRolledFirst(context, consumer, next, mode);
    return holds(context, consumer, object, next, { settled, cross });
  };

/** Verifiers in other namespaces that gate 1 has stopped waiting for. */
export const overtakenAtGateOne = (
  context: PlanningContext,
  { consumers }: Observed,
  next: Generation,
  mode: GateMode,
): readonly string[] => {
  const trusts = trustOf(context, next, mode);
  return consumers
    .filter(
      (consumer) => !consumer.blocks && consumer.verifies.some((object) => !trusts(consumer, object).ok),
    )
    .map(({ id }) => id);
};

/** Gate 1, trust is out: every known verifier holds `next`. */
export const gateOne = (
  all: PlanningContext,
  view: Observed,
  next: Generation,
  mode: GateMode,
): readonly Blocker[] => {
  const { context, seen } = askedPart(all, view, mode);
  const trusts = trustOf(context, next, mode);
  const blockers = [
    ...missing(seen, 'verifies', next.since, trusts),
    ...missingReaders(context, seen, next.since, trusts),
    ...obstacles(context, next, next.since),
  ];
  if (mode.strict !== undefined && !cachesPassed(context, next)) blockers.push(cacheBlocker(context, next));
  if (mode.strict !== undefined) blockers.push(...hiddenReaders(context, next));
  if (blockers.length === 0 || mode.late) return [];
  if (mode.strict === undefined && mode.impatient && context.policy.onBlocked === 'Proceed') return [];
  return blockers;
};

/** Every presenter serves a leaf of `current`, and no cache can bring an old leaf back. */
/** Blockers beside what their consumers serve. Why nothing is served, they say themselves. */
const besideShown = ({ clock }: PlanningContext, seen: Observed, blockers: readonly Blocker[]): Blocker[] => {
  const shown = blockers.length === 0 ? new Map<string, readonly Serving[]>() : servings(seen, clock.now);
  return blockers.map((blocker) => {
    const [worst] = shown.get(blocker.consumer) ?? [];
    return worst === undefined || worst.state === 'unseen'
      ? blocker
      : { ...blocker, shows: `${worst.text}, since ${iso(worst.since)}` };
  });
};

const outOfUse = (context: PlanningContext, seen: Observed, current: Generation): Blocker[] => {
  const { clock, policy, objects } = context;
  const since = current.since;
  const blockers = missing(seen, 'presents', since, (consumer, object) =>
    serves(context, consumer, object, current),
  );
  const presented = presentersIn(seen);
  const shared = usedByOthers(context);
  blockers.push(...withoutLeaf(seen, since));
  const lent = lentObjects(context);
  blockers.push(...awaitedLeaves(context, lent, current));
  const held = lent
    .filter(({ leaf, writtenBy }) => leaf !== undefined && writtenBy?.gone !== true)
    .map(({ id }) => id);
  for (const object of [...policy.leaves.map((leaf) => leaf.object), ...held]) {
    const leaf = objects.get(object)?.leaf;
    if (leaf === undefined) {
      if (isUnborn(context, object)) continue;
      blockers.push({
        consumer: object,
        waitsFor: `to hold a leaf of CA generation ${current.number}`,
        since,
      });
      continue;
    }
    if (!clock.aged(leaf.writtenAt, policy.cacheLag)) {
      const waitsFor = `to take effect: for ${lengthOf(policy.cacheLag)} after the write a kubelet may still hand out the old leaf`;
      blockers.push({ consumer: object, waitsFor, since });
    }
    const why = whyUnknown(context, presented.get(object) ?? []);
    if (why === undefined || oldLeavesGone(context, object, current) !== undefined) continue;
    // The old CA stays trusted for them.
    if (shared.has(object)) continue;
    // No cross-certificate covers a mistake about a presenter.
    const settled = !policy.consumersFound && clock.aged(leaf.issuerSince, policy.reloadWithin);
    if (!settled) {
      const waitsFor = policy.consumersFound
        ? `to be known as unused: ${why}, so its old leaf counts as in use until it expires; annotate its ${objects.get(object)?.writtenBy === undefined ? 'Leaf' : 'Certificate'} with handover.dev/reload: hot if other programs load it, handover.dev/used-by: nobody if only pods read it, or handover.dev/used-by: others to go on, with the old CA trusted until then`
        : `to be loaded: programs without evidence have reloadWithin (${lengthOf(policy.reloadWithin)}) from the write`;
      blockers.push({ consumer: object, waitsFor, since });
    }
  }
  return besideShown(context, seen, blockers);
};

const allTrust = (context: PlanningContext, seen: Observed, current: Generation): Blocker[] => {
  const trusts = (consumer: ConsumerSeen, object: string): Finding =>
    holds(context, consumer, object, current, { settled: false, cross: false });
  const blockers = missing(seen, 'verifies', current.since, trusts);
  blockers.push(...missingReaders(context, seen, current.since, trusts));
  if (!cachesPassed(context, current)) blockers.push(cacheBlocker(context, current));
  return blockers;
};

/** Gate 2, the old CA is out of use in the authority's own namespace: every presenter serves a leaf of `current`, and every verifier holds it. */
export const gateTwo = (
  all: PlanningContext,
  view: Observed,
  current: Generation,
  mode: GateMode,
): readonly Blocker[] => {
  // Leaves in other namespaces, and those that no object shows, hold nothing up: the old CA stays trusted for them, without its key.
  const { seen, context } = ownPart(all, view);
  const presenters = outOfUse(context, seen, current);
  if (presenters.length > 0) return [...presenters, ...allTrust(context, seen, current)];
  // No old leaf is in use. The cross-certificate covers a verifier that has not confirmed, so the owner may choose to go on.
  if (mode.impatient && context.policy.onBlocked === 'Proceed' && everyOldLeafExpired(context, seen, current))
    return [];
  return allTrust(context, seen, current);
};

const presentedIn = (context: PlanningContext, seen: Observed): readonly string[] => [
  ...context.policy.leaves.map((leaf) => leaf.object),
  ...lentObjects(context).map(({ id }) => id),
  ...seen.consumers.flatMap((consumer) => consumer.presents),
];

const everyOldLeafExpired = (context: PlanningContext, seen: Observed, current: Generation): boolean =>
  presentedIn(context, seen).every((object) => oldLeavesGone(context, object, current) !== undefined);

/**
 * A distrust is done when no verifier holds the generation any more, and all else is as in a stable authority. Other namespaces
 * cannot delay it.
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
  blockers.push(...missingReaders(context, seen, since, rid));
  // A verifier that showed a bundle without the generation may not yet have loaded the one with it: that file is still on its way.
  for (const object of context.objects.values()) {
    if (context.clock.aged(object.changedAt, context.policy.reloadWithin)) continue;
    const waitsFor = `to take effect: for ${lengthOf(context.policy.reloadWithin)} after the write programs may still load the files from before the distrust`;
    blockers.push({ consumer: object.id, waitsFor, since });
  }
  blockers.push(...outOfUse(context, seen, current), ...allTrust(context, seen, current));
  // A distrust that never ends would keep the current CA from being replaced until that CA expires.
  return context.clock.reached(deadlineOf(since, current, DEADLINE.covered)) ? [] : blockers;
};
