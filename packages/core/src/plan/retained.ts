import { instant } from '@handover/material';
import { type AuthorityState, type Generation, type IssuedElsewhere, withRole } from './authority.ts';
import { EXPIRY_GRACE } from './desired.ts';
import { holds, lagOf, type PlanningContext, showsLeafOf } from './evidence.ts';
import { roundedEnd, sameElsewhere, unionElsewhere } from './lending.ts';
import type { ConsumerSeen, Observed } from './observed.ts';
import { endOf, isLeafOf } from './old-leaves.ts';
import type { Transition } from './transition.ts';
import { listed } from './waiting.ts';
import type { BundleWrite, LeafWrite, Note } from './writes.ts';

/** A CA without a key costs a few hundred bytes in each bundle; only rotations by hand, one after another, leave several. */
export const MOST_RETAINED = 8;

/** Newest first. */
const retainedIn = ({ generations }: AuthorityState): readonly Generation[] =>
  generations.filter(({ role }) => role === 'retained');

/**
 * Leaves in other namespaces that this CA has to be trusted for: those that the state remembers, and those that can be seen. A state may be older
 * than a leaf (restored from a backup) or know nothing of it (the CA was adopted).
 */
export const leavesElsewhere = (
  { objects, elsewhere, clock }: PlanningContext,
  generation: Generation,
): IssuedElsewhere | undefined => {
  let found = generation.elsewhere;
  for (const id of elsewhere) {
    const object = objects.get(id);
    if (object?.leaf === undefined) continue;
    const { leaf, writtenBy } = object;
    const isOwn = isLeafOf(object, generation);
    // Of an object that another program writes, no record says which leaves it held before.
    const isUnrecorded =
      writtenBy !== undefined &&
      (generation.elsewhere === undefined || generation.adopted === true) &&
      !((writtenBy.since ?? Number.NEGATIVE_INFINITY) > generation.since);
    const before = isUnrecorded ? endOf(generation, writtenBy.ofOneProcess === true) : undefined;
    const end = isOwn
      ? Math.max(leaf.notAfter, before ?? 0)
      : writtenBy === undefined
        ? leaf.othersExpire
        : before;
    if (end === undefined) continue;
    const until = roundedEnd(instant(end), generation);
    found = unionElsewhere(found, { until, ...(writtenBy?.ofOneProcess === true ? {} : { objects: [id] }) });
  }
  return found === undefined || clock.reached(found.until + EXPIRY_GRACE) ? undefined : found;
};

/** What the state has to remember before these leaves are signed; undefined: it does already. */
export const recordIssuance = (
  { generations }: AuthorityState,
  writes: readonly (BundleWrite | LeafWrite)[],
): (Transition & { readonly kind: 'record-issuance' }) | undefined => {
  const current = generations.find(({ role }) => role === 'current');
  if (current === undefined) return undefined;
  let wanted = current.elsewhere;
  for (const write of writes) {
    if (write.kind !== 'write-leaf' || write.issue === undefined || write.elsewhere !== true) continue;
    const until = roundedEnd(write.issue.notAfter, current);
    wanted = unionElsewhere(wanted, { until, objects: [write.object] });
  }
  return wanted === undefined || sameElsewhere(wanted, current.elsewhere)
    ? undefined
    : { kind: 'record-issuance', generation: current.number, elsewhere: wanted };
};

/** Whether the state remembers the leaf that this write would issue. */
export const isRecorded = ({ generations }: AuthorityState, write: BundleWrite | LeafWrite): boolean => {
  if (write.kind !== 'write-leaf' || write.issue === undefined || write.elsewhere !== true) return true;
  const current = generations.find(({ role }) => role === 'current');
  const known = current?.elsewhere;
  if (current === undefined || known === undefined) return false;
  return (
    known.until >= roundedEnd(write.issue.notAfter, current) &&
    (known.objects === undefined || known.objects.includes(write.object))
  );
};

/** Workloads that were given a leaf of this CA through an object, and do not show another one yet; a text for people each. */
const stillUsing = (
  context: PlanningContext,
  presenters: readonly ConsumerSeen[],
  generation: Generation,
  object: string,
): readonly string[] => {
  const { clock, objects, state } = context;
  const seen = objects.get(object);
  const newer = state.generations.filter(({ number }) => number > generation.number);
  const issuer = newer.find((one) => isLeafOf(seen, one));
  if (seen?.leaf === undefined || issuer === undefined) return [`${object} (holds no newer leaf)`];
  if (!clock.aged(seen.leaf.writtenAt, lagOf(context, object)))
    return [`${object} (a kubelet may still hand out its old leaf)`];
  if (presenters.length === 0) return [`${object} (no pod is known to use it)`];
  const shows = (consumer: ConsumerSeen): boolean =>
    newer.some((one) => showsLeafOf(context, consumer, object, one).ok);
  return presenters
    .filter((consumer) => !shows(consumer))
    .map(
      ({ id, reload }) =>
        `${id} (${reload === 'restart' ? 'restart pending' : 'has not shown its new leaf'})`,
    );
};

/** All that a retained CA stays trusted for. */
const usersOf = (context: PlanningContext, seen: Observed, generation: Generation): readonly string[] => {
  const { objects } = generation.elsewhere ?? { objects: [] };
  if (objects === undefined) return ['leaves that no object shows'];
  const presenters = new Map<string, ConsumerSeen[]>();
  for (const consumer of seen.consumers)
    if (!consumer.blocks)
      for (const object of consumer.presents)
        presenters.set(object, [...(presenters.get(object) ?? []), consumer]);
  return [
    ...new Set(
      objects.flatMap((object) => stillUsing(context, presenters.get(object) ?? [], generation, object)),
    ),
  ];
};

/** The day after which no leaf of it is valid, by any clock. */
const endOfRetained = ({ elsewhere, since }: Generation): number =>
  (elsewhere?.until ?? since) + EXPIRY_GRACE;

const patienceEnds = ({ policy }: PlanningContext, { since }: Generation): number =>
  policy.patienceElsewhere === undefined ? Number.POSITIVE_INFINITY : since + policy.patienceElsewhere;

/** The retained CA that is no longer needed, oldest first, with the reason; undefined: each is. */
export const dropDue = (
  context: PlanningContext,
  seen: Observed,
): { readonly transition: Transition; readonly why: string } | undefined => {
  const { state, clock, policy } = context;
  const all = retainedIn(state);
  for (const generation of [...all].reverse()) {
    const { number, since } = generation;
    const drop = (why: string) => ({ transition: { kind: 'drop', generation: number } as const, why });
    if (clock.reached(endOfRetained(generation)))
      return drop('its last leaf in other namespaces has expired');
    const users = usersOf(context, seen, generation);
    if (users.length === 0) return drop('every workload in other namespaces shows a leaf of a newer CA');
    if (policy.patienceElsewhere !== undefined && clock.aged(since, policy.patienceElsewhere))
      return drop(`issueTo.patience has passed, although ${listed(users, 3)} may still use a leaf of it`);
    if (all.length > MOST_RETAINED)
      return drop(
        `${MOST_RETAINED} newer CAs are retained, although ${listed(users, 3)} may still use a leaf of it`,
      );
  }
  return undefined;
};

const dateOf = (at: number): string => new Date(at).toISOString();

/** What stays trusted for other namespaces, and until when. */
export const retainedNotes = (context: PlanningContext, seen: Observed): readonly Note[] => {
  const { state } = context;
  const all = retainedIn(state);
  return all.map((generation, index): Note => {
    const { number } = generation;
    const users = usersOf(context, seen, generation);
    const end = Math.min(endOfRetained(generation), patienceEnds(context, generation));
    const isCut = end < endOfRetained(generation);
    const count = `${users.length} ${users.length === 1 ? 'workload' : 'workloads'} elsewhere`;
    const who = users.length === 0 ? 'until bundles are written again' : `for ${count}: ${listed(users, 3)}`;
    const after = isCut
      ? '; then issueTo.patience has passed, and certificates that they still use are refused'
      : '';
    const isNext = all.length >= MOST_RETAINED && index === all.length - 1;
    const last = isNext ? '; the next rotation drops it' : '';
    return {
      code: 'Retained',
      object: `CA generation ${number}`,
      message: `stays trusted, its key destroyed, ${who}, until ${dateOf(end)} at most${after}${last}`,
    };
  });
};

/** Verifiers in other namespaces without the CA that signs now: only its cross-certificate makes them accept new leaves, for one rotation. */
export const behindElsewhere = (context: PlanningContext, seen: Observed): readonly Note[] => {
  const { state } = context;
  const current = withRole(state, 'current');
  // While others load the CA that has just begun to sign, nothing is amiss.
  if (
    current === undefined ||
    !state.crosses.some(({ of }) => of === current.number) ||
    withRole(state, 'previous') !== undefined
  )
    return [];
  const lacks = (consumer: ConsumerSeen): boolean =>
    !consumer.blocks &&
    consumer.verifies.some(
      (object) => !holds(context, consumer, object, current, { settled: true, cross: false }).ok,
    );
  const behind = seen.consumers.filter(lacks).map(({ id }) => id);
  if (behind.length === 0) return [];
  const [verb, pronoun] = behind.length === 1 ? ['has', 'it'] : ['have', 'them'];
  const message = `${listed(behind, 3)} in other namespaces ${verb} not loaded it; ${withRole(state, 'next') === undefined ? 'another rotation would' : 'this rotation will'} make ${pronoun} refuse new certificates`;
  return [{ code: 'BehindElsewhere', object: `CA generation ${current.number}`, message }];
};
