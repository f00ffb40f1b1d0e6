import { duration } from '@handover/material';
import { type Generation, withRole } from './authority.ts';
import { isRolledFirst } from './chains.ts';
import { heldSince, lagOf, type PlanningContext } from './evidence.ts';
import type { GateMode } from './gate-mode.ts';
import type { ConsumerSeen, InstanceSeen, Observed } from './observed.ts';
import { believedStamp, covers, markOf, type Stamp } from './stamp.ts';
import type { Note } from './writes.ts';

export interface StampAction {
  readonly kind: 'stamp';
  readonly consumer: string;
  readonly stamp: Stamp;
  readonly why: string;
  /** Outside the authority's namespace: its failure is its owner's to repair. */
  readonly elsewhere?: true;
}

/** The restart-only workloads to roll now, a wave at a time; never for a first install. */
export const stampsFor = (
  context: PlanningContext,
  seen: Observed,
  mode: GateMode,
): { stamps: readonly StampAction[]; notes: readonly Note[] } => {
  const stamps: StampAction[] = [];
  const notes: Note[] = [];
  // Counted per namespace: a workload that never gets ready delays only rollouts of its own namespace.
  const rolling = new Map<string, number>();
  for (const consumer of seen.consumers) {
    const { workload } = consumer;
    if (workload?.rolling === true && workload.failing === undefined) addOne(rolling, placeOf(consumer));
  }
  for (const consumer of seen.consumers) {
    const { id, workload } = consumer;
    const note = (code: Note['code'], message: string): unknown => notes.push({ code, object: id, message });
    if (workload?.failing !== undefined && isOurs(context, consumer))
      note('RolloutFailing', workload.failing);
    const roll = rollFor(context, consumer, mode);
    if (roll === undefined && !isAhead(context, consumer)) continue;
    const obstacle = workload === undefined ? 'only its owner can restart it' : workload.obstacle;
    if (obstacle !== undefined) {
      note('CannotRestart', obstacle);
      continue;
    }
    if (workload?.warning !== undefined) note('AwayWhileRestarting', workload.warning);
    const place = placeOf(consumer);
    if (roll?.ripe !== true || (rolling.get(place) ?? 0) >= context.policy.maxConcurrentRollouts) continue;
    addOne(rolling, place);
    const mark = consumer.blocks ? {} : ({ elsewhere: true } as const);
    stamps.push({ kind: 'stamp', consumer: id, stamp: roll.stamp, why: roll.why, ...mark });
  }
  return { stamps, notes };
};

const placeOf = ({ blocks, namespace }: ConsumerSeen): string => (blocks ? '' : (namespace ?? 'elsewhere'));

const addOne = (counts: Map<string, number>, key: string): unknown =>
  counts.set(key, (counts.get(key) ?? 0) + 1);

/** Whether Handover may have started its rollout. */
const isOurs = ({ state }: PlanningContext, { workload, instances }: ConsumerSeen): boolean => {
  const stamp = believedStamp(state, workload?.stamp);
  return (
    state.generations.length > 1 ||
    (stamp !== undefined &&
      instances.some((instance) => !covers(believedStamp(state, instance.stamp), stamp)))
  );
};

/** It has to be restarted once the new CA signs: its owner is warned before. */
const isAhead = ({ state }: PlanningContext, { reload, workload }: ConsumerSeen): boolean => {
  const next = withRole(state, 'next');
  return (
    reload === 'restart' &&
    next !== undefined &&
    (believedStamp(state, workload?.stamp)?.trust ?? 0) < next.number
  );
};

/**
 * A verifier of another namespace from before the CA that signs now, which may not have been restarted when the rotation was over: no step waits for
 * it. What was declared later has never held another CA.
 */
const isLeftBehind = (
  { state, policy, objects, clock }: PlanningContext,
  { blocks, verifies, instances }: ConsumerSeen,
  current: Generation,
): boolean => {
  const isFirst = !state.crosses.some(({ of }) => of === current.number);
  if (blocks || isFirst) return false;
  const soon = current.since + 2 * policy.reloadWithin + policy.cacheLag;
  const isOld = ({ createdAt }: InstanceSeen): boolean =>
    createdAt === undefined || !clock.cameAfter(createdAt, current.since, duration(0));
  return (
    instances.some(isOld) &&
    verifies.some((id) => (heldSince(objects.get(id), current) ?? Number.POSITIVE_INFINITY) <= soon)
  );
};

interface Roll {
  readonly stamp: Stamp;
  readonly why: string;
  /** False: it is due, but kubelet caches may still hold the old files. */
  readonly ripe: boolean;
}

const rollFor = (context: PlanningContext, consumer: ConsumerSeen, mode: GateMode): Roll | undefined => {
  const { state, policy, objects, clock } = context;
  const current = withRole(state, 'current');
  const next = withRole(state, 'next');
  if (current === undefined || consumer.reload === 'field') return undefined;
  const escalated =
    (mode.impatient && policy.onBlocked === 'Restart') || (mode.late && consumer.reload === 'unknown');
  if (consumer.reload !== 'restart' && !escalated) return undefined;

  const early =
    next !== undefined &&
    consumer.verifies.length > 0 &&
    (mode.strict !== undefined || escalated || isRolledFirst(context, consumer, next, mode));
  const trust = early ? next : current;
  const presented = consumer.presents.map((object) => objects.get(object)?.leaf);
  const read = consumer.verifies.map((object) => objects.get(object));
  const replaced = presented.some((leaf) => leaf?.replacedOne === true);
  const moving =
    early ||
    withRole(state, 'previous') !== undefined ||
    withRole(state, 'distrusted') !== undefined ||
    isLeftBehind(context, consumer, current);
  if (!moving && !(replaced && consumer.reload === 'restart')) return undefined;
  if (presented.some((leaf) => leaf === undefined)) return undefined;

  const issuers = presented.map((leaf) => issuingGeneration(context, leaf?.issuer));
  // A leaf of an issuer that no longer signs is about to be replaced: restart once, after that.
  if (issuers.some((number) => number === undefined || number < current.number)) return undefined;
  const stamp: Stamp = {
    trust: trust.number,
    distrusts: state.distrusts,
    ...(presented.length === 0
      ? {}
      : {
          issuer: Math.min(...issuers.map((number) => number ?? 0)),
          leaf: presented
            .map((leaf) => leaf?.fingerprint.slice(0, 8) ?? '')
            .sort()
            .join('+'),
        }),
    ca: markOf(trust.anchors[0].fingerprint),
  };
  if (covers(believedStamp(state, consumer.workload?.stamp), stamp)) return undefined;

  const writes = [
    ...presented.map((leaf) => leaf?.writtenAt),
    ...read.map((object) => heldSince(object, trust)),
    ...(withRole(state, 'distrusted') === undefined ? [] : read.map((object) => object?.changedAt)),
  ];
  const lag = duration(
    Math.max(policy.cacheLag, ...consumer.verifies.map((object) => lagOf(context, object))),
  );
  const why = moving
    ? `it reads its files only when it starts, and CA generation ${trust.number} is in them`
    : 'its leaf was renewed';
  // A pod that starts within that time of a write may still get the old files: stamp after that.
  if (writes.some((write) => write === undefined || !clock.aged(write, lag)))
    return { stamp, why, ripe: false };
  const last = Math.max(...writes.map((write) => write ?? 0));
  const upToDate = (instance: InstanceSeen): boolean =>
    covers(believedStamp(state, instance.stamp), stamp) ||
    (instance.createdAt !== undefined && clock.cameAfter(instance.createdAt, last, lag)) ||
    (consumer.reload !== 'restart' &&
      proves(consumer, instance, trust.anchors[0].fingerprint, current.anchors[0].fingerprint));
  return consumer.instances.every(upToDate) ? undefined : { stamp, why, ripe: true };
};

const proves = (consumer: ConsumerSeen, instance: InstanceSeen, trusted: string, issuer: string): boolean =>
  (consumer.verifies.length === 0 || instance.proofs.some((proof) => proof.anchors?.includes(trusted))) &&
  (consumer.presents.length === 0 || instance.proofs.some((proof) => proof.issuer === issuer));

const issuingGeneration = (context: PlanningContext, fingerprint: string | undefined): number | undefined =>
  context.state.generations.find((generation) =>
    generation.anchors.some((anchor) => anchor.fingerprint === fingerprint),
  )?.number;
