import { type Instant, second } from '@handover/material';
import { type Generation, withRole } from './authority.ts';
import { EXPIRY_GRACE } from './desired.ts';
import type { PlanningContext } from './evidence.ts';
import type { ConsumerSeen, ObjectSeen, Observed } from './observed.ts';
import { endOfOldLeaves } from './old-leaves.ts';
import type { Policy } from './policy.ts';

/** The consumers that present each object. */
export const presentersIn = ({
  consumers,
}: Pick<Observed, 'consumers'>): ReadonlyMap<string, readonly ConsumerSeen[]> => {
  const found = new Map<string, ConsumerSeen[]>();
  for (const consumer of consumers)
    for (const object of consumer.presents) {
      const others = found.get(object);
      if (others === undefined) found.set(object, [consumer]);
      else others.push(consumer);
    }
  return found;
};

/** Dates of the API server are whole seconds, rounded down. */
const ROUNDED = second;

/**
 * A consumer that has read a Secret all along is taken for all that read it: docs/assumptions.md. One that came when the old CA had stopped signing
 * says nothing of the programs that read the old leaf, and one that ends by itself never does.
 */
export const speaksForReaders = (
  { completes, createdAt }: ConsumerSeen,
  stoppedAt: Instant | undefined,
): boolean =>
  completes !== true &&
  (createdAt === undefined || (stoppedAt !== undefined && createdAt + ROUNDED <= stoppedAt));

/** Why the known presenters of an object do not speak for every program that reads it; undefined: one of them does. */
export const whyUnknown = (
  { state, policy }: PlanningContext,
  presenters: readonly ConsumerSeen[],
): string | undefined => {
  const [first] = presenters;
  if (first === undefined)
    return policy.consumersFound ? 'no pod mounts this Secret' : 'no consumer presents it';
  const previous = withRole(state, 'previous');
  if (previous === undefined || presenters.some((one) => speaksForReaders(one, previous.since)))
    return undefined;
  const late = presenters.find(({ completes }) => completes !== true);
  return late === undefined
    ? `${first.id} ends by itself and does not speak for other programs that read this Secret`
    : `${late.id} was created after CA generation ${previous.number} had stopped signing, and does not speak for programs that read this Secret before`;
};

/** Objects that programs read that no consumer stands for, by their owners' word. */
export const usedByOthers = ({ policy, objects }: PlanningContext): ReadonlySet<string> =>
  new Set([
    ...policy.leaves.flatMap((leaf) => (leaf.usedByOthers === true ? [leaf.object] : [])),
    ...[...objects.values()].flatMap(({ id, writtenBy }) => (writtenBy?.usedByOthers === true ? [id] : [])),
  ]);

/** When the leaf ends that a Secret keeps after its Leaf has gone: programs may read it that no pod shows. Undefined: it has held none of this CA. */
const endOfForsaken = (
  { state }: PlanningContext,
  { forsaken, leaf }: ObjectSeen,
  old: Generation,
): Instant | undefined => {
  if (forsaken !== true || leaf === undefined) return undefined;
  const signer = state.generations.find(({ anchors }) =>
    anchors.some(({ fingerprint }) => fingerprint === leaf.issuer),
  );
  // Peers refuse a leaf of a CA that is not trusted any more, whatever else is.
  if (signer === undefined || signer.number < old.number) return undefined;
  const own = signer.number === old.number ? leaf.notAfter : undefined;
  if (own === undefined || leaf.othersExpire === undefined) return own ?? leaf.othersExpire;
  return own > leaf.othersExpire ? own : leaf.othersExpire;
};

/** When the last old leaf ends that such programs may still use; no step waits for them, so that the old CA stays trusted until then. */
export const othersUseUntil = (
  context: PlanningContext,
  old: Generation,
  current: Generation,
): Instant | undefined => {
  const ends = [
    ...[...usedByOthers(context)].map(
      (object) => [object, endOfOldLeaves(context, object, current)] as const,
    ),
    ...[...context.objects.values()].map(
      (object) => [object.id, endOfForsaken(context, object, old)] as const,
    ),
  ];
  let latest: Instant | undefined;
  for (const [object, end] of ends) {
    // In another namespace, the end of the leaf is remembered with the leaf.
    if (context.elsewhere.has(object)) continue;
    if (end === undefined || context.clock.reached(end + EXPIRY_GRACE)) continue;
    if (latest === undefined || end > latest) latest = end;
  }
  return latest;
};

/** Objects whose readers are known: declared verifiers, or, where its owner says that no other program does, its presenters alone. */
export const readIn = (
  { leaves }: Policy,
  { consumers }: Pick<Observed, 'consumers'>,
): ReadonlySet<string> => {
  const presented = new Set(consumers.flatMap(({ presents }) => presents));
  const alone = leaves.filter(({ object, usedByNobody }) => usedByNobody === true && presented.has(object));
  return new Set([...consumers.flatMap(({ verifies }) => verifies), ...alone.map(({ object }) => object)]);
};
