import type { Instant } from '@handover/material';
import { type AuthorityState, withRole } from './authority.ts';
import { elsewhereIn } from './borders.ts';
import { Clock } from './clock.ts';
import { type Finding, holds, lagOf, type PlanningContext, serves } from './evidence.ts';
import { byStrength, type EvidenceKind, STANDS_ON } from './evidence-kind.ts';
import { strictness } from './gate-mode.ts';
import type { ConsumerSeen, InstanceSeen, ObjectSeen, Observed } from './observed.ts';
import type { Policy } from './policy.ts';

/** What a consumer has loaded, as far as evidence shows. */
export interface Standing {
  readonly consumer: string;
  /** Its weakest evidence; undefined: for one of its objects there is none. */
  readonly by: EvidenceKind | undefined;
  readonly at: Instant | undefined;
  /** What evidence is missing: that it trusts the newest generation, or that it serves a leaf of the current one. */
  readonly lacks: readonly Lack[];
  /** For which of its objects its owner's word stands in for evidence. */
  readonly assumes: readonly Pick<Lack, 'what' | 'object'>[];
  /** The generation that it trusts until it is restarted, although no bundle holds it any more. */
  readonly trustsUntilRestarted: number | undefined;
}

/** One missing piece of evidence, for one object of a consumer. */
export interface Lack {
  readonly what: 'trust' | 'leaf';
  readonly object: string;
  readonly waitsFor: string;
}

export const weakestOf = (findings: readonly Finding[]): Pick<Standing, 'by' | 'at'> => {
  let weakest: Pick<Standing, 'by' | 'at'> = { by: undefined, at: undefined };
  for (const finding of findings) {
    if (!finding.ok) return { by: undefined, at: undefined };
    if (weakest.by === undefined || byStrength(finding.by, weakest.by) > 0)
      weakest = { by: finding.by, at: finding.at };
  }
  return weakest;
};

/** The generation before the current one, when that has been retired and nothing else is under way. */
const lastRetired = (state: AuthorityState): number | undefined => {
  const [only, ...others] = state.generations;
  // Before the first rotation nothing is retired.
  if (only?.role !== 'current' || others.length > 0 || state.ids.length === 0) return undefined;
  return state.crosses.find(({ of }) => of === only.number)?.by ?? only.number - 1;
};

/** Started from a bundle that has changed since: the process still trusts what the bundle held then. */
const startedBefore = (context: PlanningContext, instance: InstanceSeen, object: ObjectSeen): boolean => {
  const held = new Set(object.anchors.map(({ fingerprint }) => fingerprint));
  const shown = instance.proofs.filter(({ complete }) => complete === true);
  if (shown.length > 0 && shown.every(({ anchors = [] }) => anchors.every((anchor) => held.has(anchor))))
    return false;
  return (
    instance.createdAt === undefined ||
    !context.clock.cameAfter(instance.createdAt, object.changedAt, lagOf(context, object.id))
  );
};

const lingers = (context: PlanningContext, { reload, verifies, instances }: ConsumerSeen): boolean =>
  reload === 'restart' &&
  verifies.some((id) => {
    const object = context.objects.get(id);
    return object !== undefined && instances.some((instance) => startedBefore(context, instance, object));
  });

/** Whether each consumer holds the newest generation and serves its leaf. For people: no step rests on it. */
export const standings = (seen: Observed, policy: Policy, now: Instant): readonly Standing[] => {
  const state = seen.authority;
  const current = state === undefined ? undefined : withRole(state, 'current');
  if (state === undefined || current === undefined) return [];
  const context: PlanningContext = {
    state,
    policy,
    clock: new Clock(now, seen.steadySince, seen.clockDoubt),
    objects: new Map(seen.objects.map((object) => [object.id, object])),
    elsewhere: elsewhereIn(seen, policy),
  };
  const next = withRole(state, 'next');
  const covered = next !== undefined && strictness(seen, current) === undefined;
  const retired = lastRetired(state);
  return seen.consumers.map((consumer) => {
    const trust = consumer.verifies.map((object) => ({
      what: 'trust' as const,
      object,
      finding: holds(context, consumer, object, next ?? current, { settled: covered, cross: covered }),
    }));
    const leaves = consumer.presents.map((object) => ({
      what: 'leaf' as const,
      object,
      finding: serves(context, consumer, object, current),
    }));
    const all = [...trust, ...leaves];
    return {
      consumer: consumer.id,
      ...weakestOf(all.map(({ finding }) => finding)),
      lacks: all.flatMap(({ what, object, finding }) =>
        finding.ok ? [] : [{ what, object, waitsFor: finding.waitsFor }],
      ),
      assumes: all.flatMap(({ what, object, finding }) =>
        finding.ok && STANDS_ON[finding.by] === 'assumed' ? [{ what, object }] : [],
      ),
      trustsUntilRestarted: lingers(context, consumer) ? retired : undefined,
    };
  });
};
