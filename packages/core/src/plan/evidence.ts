import type { Duration, Instant } from '@handover/material';
import { type AuthorityState, type Generation, withRole } from './authority.ts';
import type { Clock } from './clock.ts';
import { EXPIRY_GRACE } from './desired.ts';
import type { EvidenceKind } from './evidence-kind.ts';
import { otherLeaf } from './expected-leaf.ts';
import { heldLeaf } from './held-leaves.ts';
import type { ConsumerSeen, InstanceSeen, ObjectSeen, Proof, ShownLeaf, Unread } from './observed.ts';
import { oldLeavesGone, ownLeafWait } from './old-leaves.ts';
import { FIELD_LAG, type Policy } from './policy.ts';
import { believedStamp } from './stamp.ts';
import { caGenerations, listed } from './waiting.ts';

export type Finding =
  | { readonly ok: true; readonly by: EvidenceKind; readonly at: Instant | undefined }
  | { readonly ok: false; readonly waitsFor: string };

/** Which evidence a question admits. */
export interface Admits {
  /** `settled` counts for every consumer that is not restart-only. */
  readonly settled: boolean;
  /** The cross-certificate stands in for a restart-only verifier. */
  readonly cross: boolean;
}

export interface PlanningContext {
  readonly state: AuthorityState;
  readonly policy: Policy;
  readonly clock: Clock;
  readonly objects: ReadonlyMap<string, ObjectSeen>;
  /** Objects outside the authority's namespace. */
  readonly elsewhere: ReadonlySet<string>;
}

const found = (by: EvidenceKind, at?: Instant): Finding => ({ ok: true, by, at });
const waits = (waitsFor: string): Finding => ({ ok: false, waitsFor });

/** Since when an object has held all of a generation's anchors without a break. */
export const heldSince = (object: ObjectSeen | undefined, generation: Generation): Instant | undefined => {
  let latest: Instant | undefined;
  for (const anchor of generation.anchors) {
    const held = object?.anchors.find((candidate) => candidate.fingerprint === anchor.fingerprint);
    if (held === undefined) return undefined;
    if (latest === undefined || held.since > latest) latest = held.since;
  }
  return latest;
};

const speaksOf = (proof: Proof, object: string): boolean =>
  proof.object === undefined || proof.object === object;

/** How stale a file of this object can be that a process starts from. */
export const lagOf = ({ policy, objects }: PlanningContext, object: string): Duration =>
  objects.get(object)?.cacheLag ?? policy.cacheLag;

/** Created when no cache could still hold what was there before. */
const createdAfter = (
  context: PlanningContext,
  instance: InstanceSeen,
  object: string,
  write: Instant | undefined,
): boolean =>
  instance.ready &&
  write !== undefined &&
  instance.createdAt !== undefined &&
  context.clock.cameAfter(instance.createdAt, write, lagOf(context, object));

/** It read its files when it began; that it did is seen, or a person's word. */
const began = ({ confirmedBy, createdAt }: InstanceSeen): Finding =>
  found(confirmedBy === undefined ? 'restarted' : 'confirmed', createdAt);

const wordCounts = (context: PlanningContext, consumer: ConsumerSeen): boolean =>
  consumer.reload !== 'restart' && (consumer.ownersWord || !context.policy.consumersFound);

/**
 * A Leaf's Secret that does not exist, and cannot be issued before the adopted CA is replaced. Its consumers cannot start without it,
 * so that waiting for them would never end.
 */
export const isUnborn = (context: PlanningContext, object: string): boolean =>
  signsNothing(context) &&
  !context.objects.has(object) &&
  context.policy.leaves.some((leaf) => leaf.object === object);

/** Its CA was adopted without the key. */
const signsNothing = ({ state }: PlanningContext): boolean => withRole(state, 'current')?.hasKey === false;

interface Question {
  readonly consumer: ConsumerSeen;
  readonly object: string;
  readonly about: keyof Unread;
  /** What one proof says. A proof to the contrary outweighs any other, and its owner's promise. */
  readonly reads: (proof: Proof) => 'shows' | 'denies' | undefined;
  /** What follows from when an instance started, where no proof shows it. */
  readonly started: (instance: InstanceSeen) => Finding | undefined;
  /** Since when the object has held it; undefined: it does not. */
  readonly since: Instant | undefined;
  readonly admits: Admits;
  readonly what: string;
}

/** Every instance must show it; where none can, `admits` and the owner's word decide whether time since the write counts. */
const ask = (context: PlanningContext, question: Question): Finding => {
  const { consumer, since, admits, what } = question;
  const { clock, policy } = context;
  if (consumer.reload === 'field') {
    if (since === undefined) return waits(`to hold ${what}`);
    // Until then an API server accepts the new leaf through the cross-certificate, as a restart-only verifier does.
    return admits.cross || clock.aged(since, FIELD_LAG)
      ? found('written', since)
      : waits(`to hold ${what} on every API server`);
  }
  const unborn =
    signsNothing(context) &&
    [question.object, ...consumer.presents, ...consumer.verifies].some((object) => isUnborn(context, object));
  let weakest: Finding = found(unborn ? 'unused' : 'restarted');
  const missing: InstanceSeen[] = [];
  let denied = false;
  for (const instance of consumer.instances) {
    if (unborn && !instance.ready) continue;
    const denies = instance.proofs.some((proof) => question.reads(proof) === 'denies');
    const shows = instance.proofs.find((proof) => question.reads(proof) === 'shows');
    const finding = shows === undefined ? question.started(instance) : found(shows.by, shows.at);
    const isOther = otherLeaf(context, consumer, instance) !== undefined;
    // A restart does not outweigh what the pod shows: it may have read a copy that it keeps.
    if (finding !== undefined && !isOther && !denies) weakest = finding;
    else {
      missing.push(instance);
      denied ||= instance.unread?.[question.about] !== undefined || denies || isOther;
    }
  }
  if (missing.length === 0 && consumer.instances.length > 0) return weakest;
  if (missing.length === 0 && (policy.consumersFound || unborn)) return found('unused');
  const settledStands =
    !denied && consumer.reload !== 'restart' && (admits.settled || wordCounts(context, consumer));
  const obstacle = context.objects.get(question.object)?.obstacle;
  // A verifier that its owner keeps from the new CA may be overtaken. A presenter of an old leaf is not: its CA stays trusted.
  if (question.about === 'trust' && !consumer.blocks && since === undefined && obstacle !== undefined)
    return found('outside');
  // Where caches lag longer, the file itself comes later.
  const late = context.objects.get(question.object)?.cacheLag ?? 0;
  if (settledStands && since !== undefined && clock.aged(since, policy.reloadWithin + late))
    return found('settled', since);
  // The bundle of an object that another program writes comes with its next leaf, and that follows the new CA.
  const later = context.objects.get(question.object)?.writtenBy !== undefined;
  if (admits.cross && (consumer.reload === 'restart' || later)) return found('cross');
  return waits(
    `${consumer.reload === 'restart' ? 'to restart with' : 'to load'} ${what}${detailOf(context, question, missing)}`,
  );
};

/** Which instances of several are missing, and why the first of them cannot be read. */
const detailOf = (
  context: PlanningContext,
  { consumer, about, reads, started }: Question,
  missing: readonly InstanceSeen[],
): string => {
  const nameOf = ({ name, uid }: InstanceSeen): string => name ?? uid;
  const { workload } = consumer;
  const isOneOf = consumer.instances.length > 1;
  /** Where a probe has to show the leaf, its restart alone is no evidence of it, and yet it was restarted. */
  const wasRestarted = (instance: InstanceSeen): boolean =>
    started(instance) !== undefined ||
    (workload?.rolling === false && started({ ...instance, stamp: workload.stamp }) !== undefined);
  const contradictionIn = (instance: InstanceSeen): string | undefined => {
    const read = instance.proofs.map(reads);
    if (read.includes('shows')) return 'its status document and its handshake disagree';
    return read.includes('denies') && wasRestarted(instance)
      ? `it was restarted and still shows ${about === 'leaf' ? 'the old certificate' : 'the old CAs'}: does it start from a copy that it keeps?`
      : undefined;
  };
  const whyOf = (instance: InstanceSeen): string | undefined =>
    otherLeaf(context, consumer, instance) ?? instance.unread?.[about] ?? contradictionIn(instance);
  const mute = missing.find((instance) => whyOf(instance) !== undefined);
  const why = mute === undefined ? undefined : whyOf(mute);
  const names = isOneOf ? missing.map(nameOf) : [];
  const parts = [
    ...(names.length === 0 || (names.length === 1 && mute !== undefined)
      ? []
      : [`missing: ${listed(names, 3)}`]),
    ...(mute === undefined ? [] : [isOneOf || mute.name !== undefined ? `${nameOf(mute)}: ${why}` : why]),
  ];
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
};

/** Does this verifier hold the generation? */
export const holds = (
  context: PlanningContext,
  consumer: ConsumerSeen,
  object: string,
  generation: Generation,
  admits: Admits,
): Finding => {
  const since = heldSince(context.objects.get(object), generation);
  return ask(context, {
    consumer,
    object,
    about: 'trust',
    since,
    admits,
    what: `CA generation ${generation.number}`,
    reads: (proof) => {
      if (!speaksOf(proof, object)) return undefined;
      if (generation.anchors.some((anchor) => proof.refuses?.includes(anchor.fingerprint))) return 'denies';
      if (generation.anchors.every((anchor) => proof.anchors?.includes(anchor.fingerprint))) return 'shows';
      return proof.complete === true ? 'denies' : undefined;
    },
    started: (instance) => {
      const stamp = believedStamp(context.state, instance.stamp);
      if (since !== undefined && instance.ready && stamp !== undefined && stamp.trust >= generation.number) {
        return found('restarted', instance.createdAt);
      }
      return createdAfter(context, instance, object, since) ? began(instance) : undefined;
    },
  });
};

/** Has this verifier dropped the distrusted generations? */
export const isRidOf = (
  context: PlanningContext,
  consumer: ConsumerSeen,
  object: string,
  generations: readonly Generation[],
): Finding => {
  const seen = context.objects.get(object);
  const gone = new Set(
    generations.flatMap((generation) => generation.anchors.map((anchor) => anchor.fingerprint)),
  );
  const clean = seen !== undefined && !seen.anchors.some((anchor) => gone.has(anchor.fingerprint));
  const since = clean ? seen.changedAt : undefined;
  return ask(context, {
    consumer,
    object,
    about: 'trust',
    since,
    admits: { settled: false, cross: false },
    what: `a bundle without ${caGenerations(generations.map(({ number }) => number))}`,
    // An accepted canary shows what the verifier trusts, not what it no longer trusts.
    reads: (proof) => {
      if (!speaksOf(proof, object)) return undefined;
      if (proof.anchors?.some((fingerprint) => gone.has(fingerprint)) === true) return 'denies';
      if (proof.complete !== true) return undefined;
      return proof.anchors === undefined ? 'denies' : 'shows';
    },
    started: (instance) => {
      const stamp = believedStamp(context.state, instance.stamp);
      if (clean && instance.ready && stamp !== undefined && stamp.distrusts >= context.state.distrusts) {
        return found('restarted', instance.createdAt);
      }
      return createdAfter(context, instance, object, since) ? began(instance) : undefined;
    },
  });
};

/**
 * A leaf that is known proves its own object only. A handshake with one port says nothing of the other Secrets that a pod presents, whatever leaf it
 * saw.
 */
const showsOther = (
  { objects }: PlanningContext,
  { presents }: ConsumerSeen,
  { by, leaves = [] }: Proof,
  object: string,
): boolean => {
  const own = objects.get(object)?.leaf?.fingerprint;
  if (leaves.some(({ fingerprint }) => fingerprint === own)) return false;
  if (by === 'probed' && presents.length > 1) return true;
  const isOthers = (shown: ShownLeaf): boolean =>
    (shown.object !== undefined && shown.object !== object) ||
    heldLeaf(objects, shown.fingerprint) !== undefined;
  return leaves.length > 0 && leaves.every(isOthers);
};

/** Does this presenter show a leaf of the generation? No cross-certificate covers a mistake here. */
export const showsLeafOf = (
  context: PlanningContext,
  consumer: ConsumerSeen,
  object: string,
  generation: Generation,
): Finding => {
  const seen = context.objects.get(object);
  const leaf = seen?.leaf;
  const issued =
    leaf !== undefined && generation.anchors.some((anchor) => anchor.fingerprint === leaf.issuer);
  return ask(context, {
    consumer,
    object,
    about: 'leaf',
    since: issued ? leaf.issuerSince : undefined,
    admits: { settled: false, cross: false },
    what: `a leaf of CA generation ${generation.number}`,
    reads: (proof) => {
      if (!speaksOf(proof, object) || proof.issuer === undefined) return undefined;
      const isOwn = generation.anchors.some((anchor) => anchor.fingerprint === proof.issuer);
      if (!isOwn) return 'denies';
      return showsOther(context, consumer, proof, object) ? undefined : 'shows';
    },
    started: (instance) => {
      const stamped = believedStamp(context.state, instance.stamp)?.issuer;
      if (issued && instance.ready && stamped !== undefined && stamped >= generation.number) {
        return found('restarted', instance.createdAt);
      }
      const write = issued ? leaf.issuerSince : undefined;
      return createdAfter(context, instance, object, write) ? began(instance) : undefined;
    },
  });
};

/** The same, or no leaf of another CA can be in use any more. */
export const serves = (
  context: PlanningContext,
  consumer: ConsumerSeen,
  object: string,
  generation: Generation,
): Finding => {
  const finding = showsLeafOf(context, consumer, object, generation);
  if (finding.ok) return finding;
  const gone = oldLeavesGone(context, object, generation);
  if (gone !== undefined && !isContradicted(context, consumer, object, generation, gone.by)) return gone;
  const waitsFor = ownLeafWait(context, object, generation);
  return waitsFor === undefined ? finding : waits(waitsFor);
};

/**
 * What records say of old leaves may be less than there were: a Secret that was deleted takes its record with it. A process that shows an old leaf
 * counts until that very leaf has ended; a pod from before the old CA stopped signing had something to start from.
 */
const isContradicted = (
  context: PlanningContext,
  { instances }: ConsumerSeen,
  object: string,
  generation: Generation,
  by: EvidenceKind,
): boolean => {
  const own = new Set(generation.anchors.map(({ fingerprint }) => fingerprint));
  const stopped = withRole(context.state, 'previous')?.since;
  return instances.some(
    ({ proofs, createdAt, ready }) =>
      (by === 'unused' &&
        ready &&
        stopped !== undefined &&
        createdAt !== undefined &&
        createdAt <= stopped) ||
      proofs.some(
        (proof) =>
          speaksOf(proof, object) &&
          proof.issuer !== undefined &&
          !own.has(proof.issuer) &&
          !isShownEnded(context, proof, generation),
      ),
  );
};

/** Whether the old leaves that a process shows have ended: by their own dates where those are known, else with the CAs that may have signed them. */
const isShownEnded = (
  { state, objects, clock }: PlanningContext,
  { leaves = [], issuer }: Proof,
  generation: Generation,
): boolean => {
  const isOver = (end: Instant | undefined): boolean =>
    end !== undefined && clock.reached(end + EXPIRY_GRACE);
  const isNewest = ({ fingerprint }: ShownLeaf): boolean => {
    const issuers = heldLeaf(objects, fingerprint)?.issuers;
    return generation.anchors.some((anchor) => issuers?.has(anchor.fingerprint) === true);
  };
  const old = leaves.filter((leaf) => !isNewest(leaf));
  if (old.length > 0 && old.every(({ notAfter }) => isOver(notAfter))) return true;
  const others = state.generations.filter(({ number }) => number !== generation.number);
  const signers = others.filter(({ anchors }) => anchors.some(({ fingerprint }) => fingerprint === issuer));
  const ends = (signers.length > 0 ? signers : others).flatMap(({ anchors }) => anchors);
  return ends.length > 0 && ends.every(({ notAfter }) => isOver(notAfter));
};
