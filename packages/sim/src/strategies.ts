import {
  type Observed,
  type Plan,
  type Policy,
  phaseOf,
  plan,
  type Swap,
  type Transition,
  withRole,
} from '@handover/core';
import type { Planner } from '@handover/engine';
import { hour, type Instant, instant } from '@handover/material';

export type StrategyName = 'phased' | 'instant' | 'replace' | 'carry-over';

/** Decides; the engine carries it out. */
export interface Strategy {
  readonly name: StrategyName;
  readonly plan: Planner;
}

/** No gate and no cross-certificate: the new CA signs at once, and everything is written in one go. */
const atOnce = (keepsOld: boolean, seen: Observed, policy: Policy, now: Instant): Plan => {
  const state = seen.authority;
  const answer = (actions: Plan['actions']): Plan => ({
    phase: phaseOf(state, seen, policy),
    actions,
    blockedBy: [],
    notes: [],
    retained: [],
    wakeAt: undefined,
  });
  if (state === undefined) return answer([]);
  const swap = (transition: Transition, why: string): Plan => {
    const action: Swap = { ...transition, expect: state.revision, revision: state.revision + 1, why };
    return answer([action]);
  };
  const next = withRole(state, 'next');
  const current = withRole(state, 'current');
  const previous = withRole(state, 'previous');
  const asked = seen.rotate.find((id) => !state.ids.includes(id));
  if (next !== undefined)
    return swap({ kind: 'activate', generation: next.number, crossBy: undefined }, 'at once');
  if (previous !== undefined && (!keepsOld || asked !== undefined)) {
    return swap({ kind: 'retire', generation: previous.number }, 'at once');
  }
  const anchors = state.generations.flatMap((generation) => generation.anchors.map((a) => a.fingerprint));
  const [ca] = current?.anchors ?? [];
  const stale = (object: string): string | undefined | false => {
    const found = seen.objects.find((item) => item.id === object);
    return found !== undefined && found.revision === state.revision ? false : found?.version;
  };
  const writes: Plan['actions'][number][] = [];
  for (const { object } of policy.bundles) {
    const expect = stale(object);
    if (expect !== false) {
      writes.push({
        kind: 'write-bundle',
        object,
        expect,
        revision: state.revision,
        anchors,
        why: 'all at once',
      });
    }
  }
  for (const { object, lifetime } of policy.leaves) {
    const expect = stale(object);
    if (expect === false || ca === undefined || current === undefined) continue;
    writes.push({
      kind: 'write-leaf',
      object,
      expect,
      revision: state.revision,
      anchors,
      issue: {
        generation: current.number,
        notBefore: instant(now - hour),
        notAfter: instant(Math.min(now + lifetime, ca.notAfter)),
        othersExpire: undefined,
        replacesOne: true,
      },
      chain: [],
      why: 'all at once',
    });
  }
  if (writes.length > 0 || asked === undefined) return answer(writes);
  const generation = state.lastGeneration + 1;
  return swap(
    { kind: 'mint', generation, as: 'next', id: asked, adopts: undefined },
    'a rotation was requested',
  );
};

export const STRATEGIES = {
  phased: { name: 'phased', plan },
  instant: { name: 'instant', plan },
  /** Everything at once: the old CA is gone with the write that brings the new leaf. */
  replace: {
    name: 'replace',
    plan: (seen, policy, now) => atOnce(false, seen, policy, now),
  },
  /** Everything at once, the old CA carried over in the bundle until the next rotation. */
  'carry-over': {
    name: 'carry-over',
    plan: (seen, policy, now) => atOnce(true, seen, policy, now),
  },
} as const satisfies Record<StrategyName, Strategy>;
