import {
  type ConsumerSeen,
  DISTRUST,
  type Leaf,
  type ObjectSeen,
  type Observed,
  ROTATE,
} from '@handover/core';
import { type Certificate, duration, type Instant } from '@handover/material';
import { EngineError, isCode } from '../error.ts';
import { inParallel } from '../scheduling/in-parallel.ts';
import { authorityRef, type Catalogue, liesElsewhere, secretOf } from '../snapshot/catalogue.ts';
import type { AuthorityId, AuthorityRecord, ObjectId, StoredObject } from '../snapshot/home.ts';
import { type HookStatus, hookStatus } from '../snapshot/hook-status.ts';
import { type Hook, type HookRecord, heardBy, hooksOf, partsOf, restarts } from '../snapshot/hooks.ts';
import { withoutMovedLeaves } from '../snapshot/moved-leaves.ts';
import { hasAsked, type Outputs } from '../snapshot/outputs.ts';
import { authorityIn, policyFor, type Responsibilities } from '../snapshot/responsibilities.ts';
import { believed } from '../snapshot/seal.ts';
import { extrasFor, keepingUnknown } from '../snapshot/shared-bundles.ts';
import type { Adoption, ConsumerFound, LeafIssuers, ReadSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { seenAs } from '../snapshot/stored-object.ts';
import { unknownExternallyHeld } from '../snapshot/unknown-externally-held.ts';
import { adoptionOf, anchorsOf, awaitingOverwrite, orphanedBy } from './adoption.ts';

/** A hook, and what is remembered of it. */
interface HookSeen {
  readonly hook: Hook;
  readonly record: HookRecord | undefined;
}

const hooksSeen = ({ hooks, catalogue }: Snapshot, authority: AuthorityId): readonly HookSeen[] =>
  hooks === undefined
    ? []
    : hooksOf(catalogue, authority).map((hook) => ({ hook, record: hooks.read(hook) }));

/** Even where programs reload in no time, they do so only after they were told: what they are not told of yet is dated now. */
const afterTelling = (responsibilities: Responsibilities, hooks: readonly HookSeen[]): Responsibilities => {
  const { policy } = responsibilities;
  if (policy.reloadWithin > 0 || hooks.every(({ hook }) => restarts(hook))) return responsibilities;
  return { ...responsibilities, policy: { ...policy, reloadWithin: duration(1) } };
};

const statusOfHook = (
  { hook, record }: HookSeen,
  stored: ReadonlyMap<ObjectId, StoredObject>,
): HookStatus => {
  const parts = hook.objects.flatMap((id) => {
    const part = partsOf(id, stored.get(id));
    return part === undefined ? [] : [[id, part] as const];
  });
  return hookStatus(hook, record, new Map(parts));
};

/**
 * A promise to reload counts from when the program was told, not from when the file was written. A change that the hook does not hear
 * of counts from its write, and so does one that a restart brings: the restart itself is the evidence.
 */
const sinceTold = (
  seen: ObjectSeen,
  { hook, record }: HookSeen,
  stored: StoredObject,
  now: Instant,
): ObjectSeen => {
  if (restarts(hook)) return seen;
  const told = record?.told?.[seen.id];
  const heard = heardBy(hook);
  const toldOf = (fingerprint: string, since: Instant): Instant => {
    const first = told?.anchors.find((anchor) => anchor.fingerprint === fingerprint)?.since;
    return first === undefined ? now : (Math.max(since, first) as Instant);
  };
  const { leaf } = seen;
  const issuerTold =
    leaf !== undefined && told?.issuer?.fingerprint === leaf.issuer ? told.issuer.since : now;
  const trust = partsOf(seen.id, stored)?.trust;
  return {
    ...seen,
    ...(heard.includes('trust')
      ? {
          anchors: seen.anchors.map(({ fingerprint, since }) => ({
            fingerprint,
            since: toldOf(fingerprint, since),
          })),
          changedAt: trust !== undefined && told?.parts.trust === trust ? seen.changedAt : now,
        }
      : {}),
    ...(leaf !== undefined && heard.includes('leaf')
      ? { leaf: { ...leaf, issuerSince: Math.max(leaf.issuerSince, issuerTold) as Instant } }
      : {}),
  };
};

/** Everything known about one authority at one moment. */
export interface Observation {
  readonly responsibilities: Responsibilities;
  readonly record: AuthorityRecord | undefined;
  readonly stored: ReadonlyMap<ObjectId, StoredObject>;
  /** Files in other formats, of the objects that have any. */
  readonly outputs: ReadonlyMap<ObjectId, Outputs>;
  /** Version of each workload that can be rolled, by consumer: a stamp lands on no other. */
  readonly workloads: ReadonlyMap<string, string>;
  readonly seen: Observed;
  readonly now: Instant;
  /** CAs to take over, while there is no authority yet. */
  readonly adoption?: Adoption | undefined;
  /** Authorities that there are. */
  readonly declared: Catalogue['authorities'];
  /** Hooks of the objects made from it. */
  readonly hooks: readonly HookStatus[];
}

/** Own CAs first, as the planner names them; in the file those of authorities listed earlier come before. */
const inPlannersOrder = (seen: ObjectSeen, extras: readonly Certificate[]): ObjectSeen => {
  if (extras.length === 0) return seen;
  const foreign = new Set(extras.map(({ fingerprint }) => fingerprint));
  const own = seen.anchors.filter(({ fingerprint }) => !foreign.has(fingerprint));
  return {
    ...seen,
    anchors: [...own, ...seen.anchors.filter(({ fingerprint }) => foreign.has(fingerprint))],
  };
};

/** Stands for programs that still serve the leaf of a Secret that no Leaf asks this authority for any more. Nothing can show that they stopped. */
const keeperOf = (object: ObjectId, why: string, blocks: boolean): ConsumerSeen => ({
  id: `${object} (${why})`,
  reload: 'restart',
  ownersWord: false,
  blocks,
  presents: [object],
  verifies: [],
  instances: [{ uid: object, createdAt: undefined, ready: false, stamp: undefined, proofs: [] }],
  workload: undefined,
});

const LEAF_GONE = 'no Leaf may have it any more: remove its files once no program uses them';
const LEAF_MOVED = 'its Leaf names another Authority, and may not move: see that Leaf';

/** Outside its namespace, and in the hands of those there: a bundle that lacks a source is the administrators' to mend. */
const marked = (seen: ObjectSeen, responsibilities: Responsibilities): ObjectSeen =>
  liesElsewhere(seen.id, responsibilities) && responsibilities.bundles.get(seen.id)?.missing === undefined
    ? { ...seen, elsewhere: true }
    : seen;

/** Why a file of it in another format cannot be made. */
const missingFor = (outputs: ReadonlyMap<ObjectId, Outputs>, object: ObjectId): string | undefined => {
  const wanted = outputs.get(object);
  return wanted !== undefined && 'missing' in wanted ? wanted.missing : undefined;
};

/** An object whose files are of other formats or passwords than those that are asked for has to be written again. */
export const asAskedFor = (
  object: ObjectId,
  found: StoredObject,
  outputs: ReadonlyMap<ObjectId, Outputs>,
): StoredObject => {
  const { record } = found;
  if (record === undefined || hasAsked(record, outputs.get(object))) return found;
  return { ...found, record: { ...record, digest: '' } };
};

/** One stored object as the planner sees it. */
export const objectSeen = (
  object: ObjectId,
  found: StoredObject,
  responsibilities: Responsibilities,
  outputs: ReadonlyMap<ObjectId, Outputs>,
  known: readonly Certificate[],
  now: Instant,
): ObjectSeen => {
  const { missing, certificates = [] } = responsibilities.bundles.get(object) ?? {};
  const obstacle = missing ?? found.obstacle ?? missingFor(outputs, object);
  const seen = seenAs(object, found, responsibilities.id, known, now, obstacle);
  return marked(inPlannersOrder(seen, certificates), responsibilities);
};

/** A fact about each certificate: it stays true when the object gets another leaf. */
const issuersIn = (objects: readonly ObjectSeen[]): LeafIssuers =>
  new Map(objects.flatMap(({ leaf }) => (leaf === undefined ? [] : [[leaf.fingerprint, leaf.issuer]])));

const endsIn = (objects: readonly ObjectSeen[]): ReadonlyMap<string, Instant> =>
  new Map(objects.flatMap(({ leaf }) => (leaf === undefined ? [] : [[leaf.fingerprint, leaf.notAfter]])));

const CONCURRENT_READS = 32;

/** Observes one authority; a snapshot during which it changed is read again. */
export async function observeWithRetry(read: ReadSnapshot, id: AuthorityId): Promise<Observation> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await observe(await read(), id);
    } catch (error) {
      if (attempt === 4 || !isCode(error, 'CONFLICT')) throw error;
    }
  }
}

const workloadsOf = (consumers: readonly ConsumerFound[]): ReadonlyMap<string, string> =>
  new Map(
    consumers.flatMap(({ id, workloadVersion }) =>
      workloadVersion === undefined ? [] : [[id, workloadVersion] as const],
    ),
  );

/** Everything that is dated. A date after `now` is read as one from before the clock was set back: very old. */
const datesOf = (record: AuthorityRecord | undefined, objects: readonly ObjectSeen[]): readonly Instant[] => [
  ...(record?.state.generations.map(({ since }) => since) ?? []),
  ...objects.flatMap(({ anchors, changedAt, leaf }) => [
    ...anchors.map(({ since }) => since),
    changedAt,
    ...(leaf === undefined ? [] : [leaf.writtenAt, leaf.issuerSince]),
  ]),
];

/**
 * Everything known about one authority at the moment of a snapshot. Objects and consumers come first, the authority last:
 * docs/decisions/0006. An authority that changed meanwhile is a `CONFLICT`.
 */
export async function observe(snapshot: Snapshot, id: AuthorityId): Promise<Observation> {
  const { now, steadySince, clockDoubt, catalogue, clock, facts } = snapshot;
  authorityIn(catalogue, id); // a name that no resource has is no file name
  const extras = await extrasFor(snapshot, id);
  const before = await snapshot.authorities.load(id);
  const declared = policyFor(catalogue, id, facts, extras, before);
  const requests = await snapshot.requests.pending(id);
  const named = new Set([...declared.leaves.keys(), ...declared.bundles.keys()]);
  const claimed = new Set(await snapshot.objects.issuedBy(id, named));

  const read = new Map<ObjectId, StoredObject>();
  await inParallel([...named, ...claimed], CONCURRENT_READS, async (object) => {
    const found = await snapshot.objects.read(object);
    if (found !== undefined) read.set(object, found);
  });
  const wanted = withoutMovedLeaves({ responsibilities: declared, record: before, catalogue, now }, read);
  const asked = new Set([...wanted.leaves.keys(), ...wanted.bundles.keys()]);
  for (const object of named) if (!asked.has(object)) read.delete(object);
  const outputs = await snapshot.outputs.prepare(wanted.outputs);
  const stored = await believed(read, {
    authorities: snapshot.authorities,
    declared: catalogue.authorities,
    record: before,
    responsibilities: wanted,
  });
  for (const [object, found] of stored)
    if (asked.has(object)) stored.set(object, asAskedFor(object, found, outputs));
  // What only claims to hold a leaf of this authority is none of its business.
  for (const object of claimed) if (stored.get(object)?.record === undefined) stored.delete(object);
  const orphans = [...claimed].filter((object) => stored.has(object));
  const hooked = hooksSeen(snapshot, id);
  const responsibilities = afterTelling(keepingUnknown(wanted, stored), hooked);
  const externallyHeld =
    before === undefined
      ? []
      : ((await snapshot.externallyHeld?.of(responsibilities, before, now)) ??
        unknownExternallyHeld(before, responsibilities));
  const certificates = [...(before?.certificates.values() ?? [])];
  const held = [...stored].map(([object, found]) => ({
    found,
    seen: objectSeen(object, found, responsibilities, outputs, certificates, now),
  }));
  const shown = [...held.map(({ seen }) => seen), ...externallyHeld];
  const issued = {
    orphans: [...orphans, ...externallyHeld.map((object) => object.id)],
    issuers: issuersIn(shown),
    ends: endsIn(shown),
  };
  const consumers = await snapshot.evidence.consumers(responsibilities, before, now, issued);
  const record = await snapshot.authorities.load(id);
  const meanwhile = (): never => {
    throw new EngineError('CONFLICT', `${id} changed meanwhile; looking again`, { retry: 'now', path: id });
  };
  // What was dated since by a clock that was set back in between would look old beside `now`.
  if (record?.state.revision !== before?.state.revision || clock.steadySince() !== steadySince) meanwhile();
  const objects: ObjectSeen[] = [];
  for (const { found, seen: plain } of held) {
    const cacheLag = facts.cacheLagOf?.(plain.id);
    const seen = cacheLag === undefined ? plain : { ...plain, cacheLag };
    const hook = hooked.find(({ hook: { objects: told } }) => told.includes(plain.id));
    objects.push(hook === undefined ? seen : sinceTold(seen, hook, found, now));
  }
  for (const { own } of consumers) if (own !== undefined) objects.push(marked(own, responsibilities));
  for (const object of asked) {
    const obstacle = stored.has(object)
      ? undefined
      : (snapshot.objects.whyAbsent?.(object) ?? missingFor(outputs, object));
    // There is nothing to write on, and the others must not wait for it without a word.
    if (obstacle === undefined) continue;
    const absent = { version: '', revision: undefined, anchors: [], changedAt: now, leaf: undefined };
    objects.push(marked({ id: object, ...absent, obstacle }, responsibilities));
  }
  objects.push(...externallyHeld);
  const later = clock.now();
  if (datesOf(record, objects).some((date) => date > now && date <= later)) meanwhile();
  const annotated = (name: string): readonly string[] =>
    (responsibilities.authority.metadata.annotations[name] ?? '')
      .split(',')
      .filter((item) => item.trim() !== '');
  const isOthers = ({ spec, metadata }: Leaf): boolean =>
    authorityRef(spec.authority, metadata.namespace) !== id;
  const moved = new Set(catalogue.leaves.filter(isOthers).map(secretOf));
  // Where consumers are found, pods that mount a Secret whose Leaf was deleted are among them, and its other readers hold nothing up.
  const isForsaken = (object: ObjectId): boolean =>
    facts.consumersFound && orphans.includes(object) && !moved.has(object);
  const inUse = orphans
    .filter((object) => !isForsaken(object))
    .filter((object) => objects.some((seen) => seen.id === object && seen.leaf !== undefined));
  const given = snapshot.given?.authority === id ? snapshot.given.adoption : undefined;
  const adoption =
    record === undefined
      ? (given ?? (await adoptionOf(snapshot.objects, responsibilities, stored, now)))
      : undefined;
  return {
    responsibilities,
    record,
    stored,
    outputs,
    workloads: workloadsOf(consumers),
    now,
    adoption,
    declared: catalogue.authorities,
    hooks: hooked.map((one) => statusOfHook(one, stored)),
    seen: {
      authority: record?.state,
      objects: objects.map((object) => (isForsaken(object.id) ? { ...object, forsaken: true } : object)),
      consumers: [
        ...consumers,
        ...inUse.map((object) =>
          keeperOf(
            object,
            moved.has(object) ? LEAF_MOVED : LEAF_GONE,
            !liesElsewhere(object, responsibilities),
          ),
        ),
      ],
      rotate: [...requests.rotate, ...annotated(ROTATE)],
      distrust: [...requests.distrust, ...annotated(DISTRUST).map(Number)],
      adoptable: adoption === undefined ? [] : anchorsOf(adoption),
      ...(adoption?.key === undefined ? {} : { adoptableKey: true }),
      ...(adoption?.leavesUntil === undefined ? {} : { adoptableUntil: adoption.leavesUntil }),
      ...(adoption === undefined
        ? {}
        : {
            orphaned: [
              ...orphanedBy(responsibilities, stored, adoption, now),
              ...(facts.adoptsOnlyAsked === true
                ? awaitingOverwrite(responsibilities, stored, adoption)
                : []),
            ],
          }),
      ...(steadySince === undefined ? {} : { steadySince }),
      ...(clockDoubt === undefined ? {} : { clockDoubt }),
      ...(catalogue.unknown === undefined ? {} : { unknownResources: catalogue.unknown }),
    },
  };
}
