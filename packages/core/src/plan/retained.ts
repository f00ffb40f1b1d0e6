import { day, type Instant, instant, iso } from '@handover/material';
import {
  type AuthorityState,
  type Generation,
  type IssuedElsewhere,
  type Needed,
  withRole,
} from './authority.ts';
import { EXPIRY_GRACE } from './desired.ts';
import { holds, lagOf, type PlanningContext, showsLeafOf } from './evidence.ts';
import {
  elsewhereEnds,
  issuedTo,
  roundedEnd,
  sameElsewhere,
  unionElsewhere,
  unknownElsewhere,
} from './external-signing.ts';
import type { ConsumerSeen, Observed } from './observed.ts';
import { endOf, isLeafOf } from './old-leaves.ts';
import { othersUseUntil, presentersIn, speaksForReaders, usedByOthers } from './readers.ts';
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
const leavesElsewhere = (
  { objects, elsewhere, clock }: PlanningContext,
  generation: Generation,
): IssuedElsewhere | undefined => {
  let found = generation.elsewhere;
  for (const id of elsewhere) {
    const object = objects.get(id);
    if (object?.leaf === undefined) continue;
    const { leaf, writtenBy } = object;
    const isKnown = generation.elsewhere !== undefined && generation.adopted !== true;
    // Which CA signed for a pod is supposed where its request is gone: what the state says is known.
    if (isKnown && writtenBy?.ofOneProcess === true) continue;
    const isOwn = isLeafOf(object, generation);
    // Of an object that another program writes, no record says which leaves it held before.
    const isUnrecorded =
      writtenBy !== undefined && !((writtenBy.since ?? Number.NEGATIVE_INFINITY) > generation.since);
    const before = isKnown
      ? elsewhereEnds(generation.elsewhere)
      : endOf(generation, writtenBy?.ofOneProcess === true);
    const end = isOwn
      ? Math.max(leaf.notAfter, leaf.othersExpire ?? 0, (isUnrecorded ? before : undefined) ?? 0)
      : writtenBy === undefined
        ? leaf.othersExpire
        : isUnrecorded
          ? before
          : undefined;
    if (end === undefined) continue;
    const until = roundedEnd(instant(end), generation);
    found = unionElsewhere(found, issuedTo(writtenBy?.ofOneProcess === true ? undefined : id, until));
  }
  const last = elsewhereEnds(found);
  return last === undefined || clock.reached(last + EXPIRY_GRACE) ? undefined : found;
};

/** Until when leaves of it may be in use that no step waits for, in the authority's own namespace; undefined: none is. */
const usedUnseenUntil = (context: PlanningContext, generation: Generation): Instant | undefined => {
  const { unseenUntil } = generation;
  const current = withRole(context.state, 'current');
  const isUnseen = unseenUntil !== undefined && !isOver(context, unseenUntil);
  const others = current === undefined ? undefined : othersUseUntil(context, generation, current);
  if (!isUnseen) return others;
  return others !== undefined && others > unseenUntil ? others : unseenUntil;
};

/** What a CA has to stay trusted for once its key is destroyed; undefined: for nothing. */
export const neededFor = (context: PlanningContext, generation: Generation): Needed | undefined => {
  const elsewhere = leavesElsewhere(context, generation);
  const unseenUntil = usedUnseenUntil(context, generation);
  if (elsewhere === undefined && unseenUntil === undefined) return undefined;
  return {
    ...(elsewhere === undefined ? {} : { elsewhere }),
    ...(unseenUntil === undefined ? {} : { unseenUntil }),
  };
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
    if (covers(wanted, write.object, until)) continue;
    wanted = unionElsewhere(wanted ?? unknownElsewhere(current), issuedTo(write.object, until));
  }
  return wanted === undefined || sameElsewhere(wanted, current.elsewhere)
    ? undefined
    : { kind: 'record-issuance', generation: current.number, elsewhere: wanted };
};

/** Whether the state remembers the leaf that this write would issue. */
export const isRecorded = ({ generations }: AuthorityState, write: BundleWrite | LeafWrite): boolean => {
  if (write.kind !== 'write-leaf' || write.issue === undefined || write.elsewhere !== true) return true;
  const current = generations.find(({ role }) => role === 'current');
  return (
    current !== undefined &&
    covers(current.elsewhere, write.object, roundedEnd(write.issue.notAfter, current))
  );
};

const covers = (known: IssuedElsewhere | undefined, object: string, end: Instant): boolean =>
  (known?.unnamedUntil ?? Number.NEGATIVE_INFINITY) >= end ||
  (known?.objects.includes(object) === true && (known.until ?? Number.NEGATIVE_INFINITY) >= end);

/** Workloads that were given a leaf of this CA through an object, and do not show another one yet; a text for people each. */
const stillUsing = (
  context: PlanningContext,
  presenters: readonly ConsumerSeen[],
  generation: Generation,
  object: string,
  shared: ReadonlySet<string>,
): readonly string[] => {
  const { clock, objects, state } = context;
  const seen = objects.get(object);
  const newer = state.generations.filter(({ number }) => number > generation.number);
  const issuer = newer.find((one) => isLeafOf(seen, one));
  if (seen?.leaf === undefined || issuer === undefined) return [`${object} (holds no newer leaf)`];
  if (!clock.aged(seen.leaf.writtenAt, lagOf(context, object)))
    return [`${object} (a kubelet may still hand out its old leaf)`];
  if (!presenters.some((one) => speaksForReaders(one, generation.stoppedAt)))
    return [
      `${object} (${presenters.length === 0 ? 'no pod is known to use it' : 'its known workloads came later, or end by themselves'})`,
    ];
  if (shared.has(object)) return [`${object} (other programs use it too)`];
  const shows = (consumer: ConsumerSeen): boolean =>
    newer.some((one) => showsLeafOf(context, consumer, object, one).ok);
  return presenters
    .filter((consumer) => !shows(consumer))
    .map(
      ({ id, reload }) =>
        `${id} (${reload === 'restart' ? 'restart pending' : 'has not shown its new leaf'})`,
    );
};

/** Workloads in other namespaces that a retained CA stays trusted for; nothing once their leaves have expired. */
const usersElsewhere = (
  context: PlanningContext,
  seen: Observed,
  generation: Generation,
): readonly string[] => {
  const { objects = [], until } = generation.elsewhere ?? {};
  if (until === undefined || isOver(context, until)) return [];
  const presenters = presentersIn({ consumers: seen.consumers.filter(({ blocks }) => !blocks) });
  const shared = usedByOthers(context);
  return [
    ...new Set(
      objects.flatMap((object) =>
        stillUsing(context, presenters.get(object) ?? [], generation, object, shared),
      ),
    ),
  ];
};

/** Valid through its last second, and by clocks that are behind ours. */
const isOver = ({ clock }: PlanningContext, until: Instant): boolean => clock.reached(until + EXPIRY_GRACE);

const isAhead = (context: PlanningContext, until: Instant | undefined): boolean =>
  until !== undefined && !isOver(context, until);

const unnamedIn = (context: PlanningContext, { elsewhere }: Generation): readonly string[] =>
  isAhead(context, elsewhere?.unnamedUntil) ? ['leaves in other namespaces whose users cannot be seen'] : [];

const unseenIn = (context: PlanningContext, { unseenUntil }: Generation): readonly string[] =>
  isAhead(context, unseenUntil) ? ['leaves whose users cannot be seen'] : [];

/** When the last leaf that it stays trusted for has expired. */
const lastEnd = ({ elsewhere, unseenUntil, since }: Generation): number =>
  Math.max(elsewhereEnds(elsewhere) ?? since, unseenUntil ?? since) + EXPIRY_GRACE;

/** The same, if the owner's patience with other namespaces is over earlier. */
const droppedAt = ({ policy }: PlanningContext, generation: Generation): number => {
  const { elsewhere, unseenUntil, since } = generation;
  const ends = elsewhereEnds(elsewhere);
  if (policy.patienceElsewhere === undefined || ends === undefined) return lastEnd(generation);
  const cut = Math.min(ends + EXPIRY_GRACE, since + policy.patienceElsewhere);
  return Math.max(cut, unseenUntil === undefined ? since : unseenUntil + EXPIRY_GRACE);
};

/** Where too many are retained: the oldest that only other namespaces need, so that none of them pushes out what the owner needs. */
const firstToGo = (context: PlanningContext, newestFirst: readonly Generation[]): Generation | undefined =>
  newestFirst.findLast((one) => unseenIn(context, one).length === 0) ?? newestFirst.at(-1);

/** The retained CA that is no longer needed, oldest first, with the reason; undefined: each is. */
export const dropDue = (
  context: PlanningContext,
  seen: Observed,
): { readonly transition: Transition; readonly why: string } | undefined => {
  const { state, clock } = context;
  const all = retainedIn(state);
  let overdue: ReturnType<typeof dropDue>;
  for (const generation of [...all].reverse()) {
    const drop = (why: string) => ({
      transition: { kind: 'drop', generation: generation.number } as const,
      why,
    });
    if (clock.reached(lastEnd(generation)))
      return drop('the last leaf that it stayed trusted for has expired');
    const unseen = unseenIn(context, generation);
    const users = [
      ...usersElsewhere(context, seen, generation),
      ...unnamedIn(context, generation),
      ...unseen,
    ];
    if (users.length === 0) return drop('every workload in other namespaces shows a leaf of a newer CA');
    if (unseen.length === 0 && clock.reached(droppedAt(context, generation)))
      return drop(`issueTo.patience has passed, although ${listed(users, 3)} may still use a leaf of it`);
    if (generation === firstToGo(context, all))
      overdue = drop(
        `${MOST_RETAINED} newer CAs are retained, although ${listed(users, 3)} may still use a leaf of it`,
      );
  }
  // Only when none of them is free.
  return all.length > MOST_RETAINED ? overdue : undefined;
};

/** A CA that stays trusted without its key. */
export interface Retained {
  readonly generation: number;
  readonly since: Instant;
  /** Workloads in other namespaces that may still use a leaf of it, each with the reason. */
  readonly elsewhere: readonly string[];
  /** Leaves may be in use that no object shows, or by programs that no consumer stands for. */
  readonly unseen: boolean;
  /** When it leaves the bundles at the latest. */
  readonly until: Instant;
  /** Then `issueTo.patience` is over, and leaves that are still valid are refused. */
  readonly overtakes: boolean;
  /** It was adopted without its key, which others may have. */
  readonly neverHeldKey: boolean;
  /** The next rotation drops it, because too many are retained. */
  readonly isLast: boolean;
}

/** The CAs that stay trusted without their keys, newest first. */
export const retainedBy = (context: PlanningContext, seen: Observed): readonly Retained[] => {
  const all = retainedIn(context.state);
  const first = firstToGo(context, all);
  return all.map((generation): Retained => {
    const until = droppedAt(context, generation);
    return {
      generation: generation.number,
      since: generation.since,
      elsewhere: usersElsewhere(context, seen, generation),
      unseen: [...unseenIn(context, generation), ...unnamedIn(context, generation)].length > 0,
      until: instant(until),
      overtakes: until < lastEnd(generation),
      neverHeldKey: generation.adopted === true,
      isLast: all.length >= MOST_RETAINED && generation === first,
    };
  });
};

/** To the day, where that says enough. */
const dateOf = ({ until, since }: Retained): string => {
  const text = iso(until);
  return until - since < 2 * day ? text : text.slice(0, 10);
};

/** Read after "CA generation 1". */
export const retainedText = (retained: Retained): string => {
  const { elsewhere, unseen, overtakes, isLast, neverHeldKey } = retained;
  const key = neverHeldKey ? 'its key not held here' : 'its key destroyed';
  const count = `${elsewhere.length} ${elsewhere.length === 1 ? 'workload' : 'workloads'} elsewhere`;
  const reasons = [
    ...(elsewhere.length === 0 ? [] : [`${count}: ${listed(elsewhere, 3)}`]),
    ...(unseen ? ['leaves whose users cannot be seen'] : []),
  ];
  const what = reasons.length === 0 ? 'until bundles are written again' : `for ${reasons.join(', and for ')}`;
  const overtaken = overtakes
    ? '; then issueTo.patience has passed, and certificates that they still use are refused'
    : '';
  const last = isLast ? '; the next rotation drops it' : '';
  return `stays trusted, ${key}, ${what}, until ${dateOf(retained)} at most${overtaken}${last}`;
};

/**
 * Verifiers in other namespaces without the CA that signs now: only its cross-certificate makes them accept new leaves, for one rotation. Where
 * there is none they refuse new leaves already.
 */
export const behindElsewhere = (context: PlanningContext, seen: Observed): readonly Note[] => {
  const { state } = context;
  const current = withRole(state, 'current');
  if (current === undefined) return [];
  const isCovered = state.crosses.some(({ of }) => of === current.number);
  const isFirst = !isCovered && state.ids.length === 0;
  // While others load the CA that has just begun to sign, nothing is amiss.
  if (isFirst || (isCovered && withRole(state, 'previous') !== undefined)) return [];
  const lacks = (consumer: ConsumerSeen): boolean =>
    !consumer.blocks &&
    consumer.verifies.some(
      (object) => !holds(context, consumer, object, current, { settled: true, cross: false }).ok,
    );
  const behind = seen.consumers.filter(lacks).map(({ id }) => id);
  if (behind.length === 0) return [];
  const [verb, pronoun] = behind.length === 1 ? ['has', 'it'] : ['have', 'them'];
  const rotation = withRole(state, 'next') === undefined ? 'another rotation would' : 'this rotation will';
  const consequence = isCovered
    ? `${rotation} make ${pronoun} refuse new certificates`
    : `no cross-certificate covers ${pronoun}, and new certificates are refused there`;
  const message = `${listed(behind, 3)} in other namespaces ${verb} not loaded it; ${consequence}`;
  return [{ code: 'BehindElsewhere', object: `CA generation ${current.number}`, message }];
};
