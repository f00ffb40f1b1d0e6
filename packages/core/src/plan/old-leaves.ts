import { type Instant, instant, iso } from '@handover/material';
import type { AuthorityState, Generation } from './authority.ts';
import { EXPIRY_GRACE } from './desired.ts';
import type { Finding, PlanningContext } from './evidence.ts';
import type { ObjectSeen } from './observed.ts';

/** Whether the leaf in an object was signed by this generation. */
export const isLeafOf = (object: ObjectSeen | undefined, { anchors }: Generation): boolean =>
  anchors.some(({ fingerprint }) => fingerprint === object?.leaf?.issuer);

/** Until when a program may still serve a leaf of another issuer from this Secret; undefined: there never was one. */
export const othersExpire = (object: ObjectSeen | undefined, issuer: Generation): Instant | undefined => {
  const leaf = object?.leaf;
  if (leaf === undefined) return undefined;
  const own = issuer.anchors.some((anchor) => anchor.fingerprint === leaf.issuer);
  if (own) return leaf.othersExpire;
  return leaf.othersExpire !== undefined && leaf.othersExpire > leaf.notAfter
    ? leaf.othersExpire
    : leaf.notAfter;
};

/** Until when leaves live that a generation signed for pods, or for other programs; undefined: there are none. */
export const endOf = (generation: Generation, forPods: boolean): number | undefined => {
  const { anchors, lentUntil, podsUntil, adopted } = generation;
  const [{ notAfter }] = anchors;
  if (forPods) return podsUntil === undefined ? undefined : Math.min(podsUntil, notAfter);
  return lentUntil === undefined || adopted === true ? notAfter : Math.min(lentUntil, notAfter);
};

/** Of an object that another program writes, no record says which leaves it held: those of every CA that signed while it was there. */
const lentBefore = (
  { generations }: AuthorityState,
  { writtenBy }: ObjectSeen,
  issuer: Generation,
): Instant | undefined => {
  const signed = generations.filter(
    ({ role, number, since }) =>
      role !== 'next' &&
      role !== 'retained' &&
      number !== issuer.number &&
      !((writtenBy?.since ?? Number.NEGATIVE_INFINITY) > since),
  );
  const ends = signed.flatMap((one) => endOf(one, writtenBy?.ofOneProcess === true) ?? []);
  return ends.length === 0 ? undefined : instant(Math.max(...ends));
};

/**
 * What a process with a leaf of its own has to do, the same words for all of them, and what would shorten it; undefined: it shares its leaf with
 * others.
 */
export const ownLeafWait = (
  { objects, state }: PlanningContext,
  object: string,
  generation: Generation,
): string | undefined => {
  const seen = objects.get(object);
  if (seen?.writtenBy?.ofOneProcess !== true) return undefined;
  const others = state.generations.filter(
    ({ role, number }) => role !== 'next' && number !== generation.number,
  );
  const end = Math.max(...others.flatMap((one) => endOf(one, true) ?? []));
  const until = Number.isFinite(end) ? `, at the latest until ${iso(end + EXPIRY_GRACE)}` : '';
  const [what, how] = isLeafOf(seen, generation)
    ? [
        'to load its new certificate',
        'a status document or a probe shows that it did, its annotation about reloads says so',
      ]
    : [
        `to get a certificate of CA generation ${generation.number}`,
        seen.writtenBy.remark ?? `${seen.writtenBy.program} refreshes it; a shorter lifetime shortens this`,
      ];
  return `${what}${until} (${how}; or restart it)`;
};

/** When the last leaf of another issuer ends that this Secret holds or has held; undefined: none is known. */
export const endOfOldLeaves = (
  { objects, state }: PlanningContext,
  object: string,
  generation: Generation,
): Instant | undefined => {
  const seen = objects.get(object);
  if (seen === undefined) return undefined;
  const isLent = seen.writtenBy !== undefined && isLeafOf(seen, generation);
  return isLent ? lentBefore(state, seen, generation) : othersExpire(seen, generation);
};

/** Nothing of another issuer can be served from this Secret any more. */
export const oldLeavesGone = (
  context: PlanningContext,
  object: string,
  generation: Generation,
): (Finding & { readonly ok: true }) | undefined => {
  const { objects, clock } = context;
  if (objects.get(object)?.leaf === undefined) return undefined;
  const end = endOfOldLeaves(context, object, generation);
  if (end === undefined) return { ok: true, by: 'unused', at: undefined };
  // Valid through its last second, and by clocks that are behind ours.
  return clock.reached(end + EXPIRY_GRACE) ? { ok: true, by: 'expired', at: end } : undefined;
};
