import type { Instant } from '@handover/material';
import { type AuthorityState, generationOf, withRole } from './authority.ts';
import { elsewhereIn } from './borders.ts';
import { chainNotes, onUnseenChainsAtOnce } from './chains.ts';
import { Clock, clockBlocker } from './clock.ts';
import type { PlanningContext } from './evidence.ts';
import { expiryNotes } from './expiry.ts';
import { type GateMode, gateModeOf } from './gate-mode.ts';
import type { Blocker } from './gates.ts';
import { activation, nextStep } from './next-step.ts';
import type { ObjectSeen, Observed } from './observed.ts';
import type { Policy } from './policy.ts';
import { type Reissue, reissuesFor } from './reissues.ts';
import {
  behindElsewhere,
  isRecorded,
  type Retained,
  recordIssuance,
  retainedBy,
  retainedText,
} from './retained.ts';
import { type StampAction, stampsFor } from './rollouts.ts';
import { believedStamp, type Stamp } from './stamp.ts';
import { distrustOf, isValidYet, type Taken, type Transition } from './transition.ts';
import { listed } from './waiting.ts';
import { type BundleWrite, type LeafWrite, type Note, writesFor } from './writes.ts';

const PAUSED = 'paused: set spec.rotation.paused to false to go on';

/** `Pending`: there is no CA, and something has to be decided before there can be one. */
export type Phase = 'Pending' | 'Stable' | 'Introducing' | 'Activating' | 'Retiring';

/** One compare-and-swap of the authority; it lands only on the revision it was decided on. */
export type Swap = Transition & {
  readonly expect: number | undefined;
  readonly revision: number;
  readonly why: string;
};

/** A swap that changes what is trusted or who signs. */
export type RotationStep = Exclude<Swap, { readonly kind: 'record-issuance' }>;

export type Action = BundleWrite | LeafWrite | Reissue | StampAction | Swap;

/** Whether it changes an object or workload outside the authority's namespace: no step waits for it, and its failure is reported there. */
export const isElsewhere = (action: Action): boolean => 'elsewhere' in action && action.elsewhere === true;

/** Either writes, or stamps, both with requests for new leaves, or exactly one swap, or nothing. Where no step can be taken, `blockedBy` names what blocks it. */
export interface Plan {
  readonly phase: Phase;
  readonly actions: readonly Action[];
  readonly blockedBy: readonly Blocker[];
  readonly notes: readonly Note[];
  /** CAs that stay trusted without their keys. */
  readonly retained: readonly Retained[];
  /** When to plan again even if nothing changes. */
  readonly wakeAt: Instant | undefined;
}

/** What to do now. No I/O, no clock, no randomness: the same input always gives the same plan. */
export const plan = (seen: Observed, policy: Policy, now: Instant): Plan => {
  const clock = new Clock(now, seen.steadySince, seen.clockDoubt);
  const state = seen.authority;
  const answer = (part: Partial<Plan>): Plan => ({
    phase: phaseOf(state, seen, policy),
    actions: [],
    blockedBy: [],
    notes: [],
    retained: [],
    wakeAt: clock.wakeAt,
    ...part,
  });
  const doubted: readonly Blocker[] = [
    ...(clock.doubt === undefined ? [] : [clockBlocker(clock.doubt)]),
    ...(seen.unknownResources === undefined
      ? []
      : [{ consumer: 'resources', waitsFor: seen.unknownResources, since: now }]),
  ];
  if (state === undefined) {
    const undecided = (seen.orphaned ?? []).map(({ object, waitsFor }) => ({
      consumer: object,
      waitsFor,
      since: now,
    }));
    const blockedBy = [...undecided, ...doubted];
    return blockedBy.length > 0
      ? answer({ phase: 'Pending', blockedBy })
      : answer({ actions: [beginning(seen)] });
  }

  const elsewhere = elsewhereIn(seen, policy);
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const context: PlanningContext = { state, policy, clock, objects, elsewhere };
  const swap = (transition: Transition, why: string, above = state.revision): Plan =>
    answer({ actions: [{ ...transition, expect: state.revision, revision: above + 1, why }] });

  const ahead = aheadOf(context);
  const taken = ahead.length === 0 ? { generation: 0, distrusts: distrustsIn(state, seen) } : stampedBy(seen);
  const asked = ahead.length === 0 ? seen.distrust : seen.distrust.filter((one) => isInUse(context, one));
  const distrust = distrustOf(state, asked, clock, taken);
  // It waits for nothing: its revision is higher than that of every object, so that its writes land.
  const highest = Math.max(state.revision, ...ahead.map(({ revision }) => revision ?? 0));
  if (distrust !== undefined) return swap(distrust, 'its distrust was requested', highest);
  if (ahead.length > 0) {
    const waitsFor = `${listed(
      ahead.map(({ id }) => id),
      3,
    )} ${ahead.length === 1 ? 'was' : 'were'} made from a newer state than revision ${state.revision} of the Authority; restore the newest copy of that state (its file in state/authorities of a directory, its Secret in a cluster); if there is none, move the state away: handover status then says how to keep the CAs that are in use, by spec.adopt`;
    return answer({ blockedBy: ahead.map((object) => ({ consumer: object.id, waitsFor, since: now })) });
  }

  const mode = gateModeOf(context, seen);
  const notes: Note[] = [...modeNotes(context, mode), ...expiryNotes(context)];
  const next = withRole(state, 'next');
  const current = withRole(state, 'current');
  const may = !policy.paused && doubted.length === 0 && next !== undefined && isValidYet(next, clock);
  const instantly = policy.strategy === 'Instant' && mode.strict === undefined && may;
  if (next !== undefined && current !== undefined && instantly) {
    return swap(
      activation(context, next, current),
      `the strategy is Instant, and the cross-certificate makes every verifier accept the new CA${onUnseenChainsAtOnce(context, seen)}`,
    );
  }

  for (const number of seen.distrust)
    if (number > state.lastGeneration)
      notes.push({
        code: 'Degraded',
        object: `distrust of CA generation ${number}`,
        message:
          'there is no such CA generation yet, and it would be distrusted as soon as it is created; withdraw the request',
      });

  // Objects elsewhere may be rewritten by their owners, or fail, without end: they come after any step that is due.
  const { writes: wanted, notes: writeNotes } = writesFor(context);
  const retained = retainedBy(context, seen);
  notes.push(...writeNotes);
  for (const one of retained)
    notes.push({ code: 'Retained', object: `CA generation ${one.generation}`, message: retainedText(one) });
  notes.push(...behindElsewhere(context, seen), ...chainNotes(context, seen, mode));
  const writes = wanted.filter((write) => isRecorded(state, write));
  // No step waits for an answer to them: gate 2 waits for the leaves.
  const reissues = reissuesFor(context, mode);
  if (writes.some((write) => !isElsewhere(write)))
    return answer({ actions: [...writes, ...reissues], notes, retained });

  const { stamps, notes: stampNotes } = stampsFor(context, seen, mode);
  notes.push(...stampNotes);
  if (stamps.some((stamp) => !isElsewhere(stamp)))
    return answer({ actions: [...stamps, ...reissues], notes, retained });

  const step = nextStep(context, seen, mode);
  const blockedBy = step === undefined ? [] : [...doubted, ...step.blockedBy];
  const held: readonly Blocker[] =
    step !== undefined && blockedBy.length === 0 && policy.paused && step.transition.kind !== 'distrust-done'
      ? [{ consumer: 'rotation.paused', waitsFor: PAUSED, since: now }]
      : blockedBy;
  if (step !== undefined && held.length === 0) return { ...swap(step.transition, step.why), notes, retained };
  const issuance = recordIssuance(state, wanted);
  if (issuance !== undefined)
    return {
      ...swap(issuance, 'a retired CA stays trusted until they are out of use', state.revision - 1),
      blockedBy: held,
      notes,
      retained,
    };
  const actions = [...(writes.length > 0 ? writes : stamps), ...reissues];
  return answer({ actions, blockedBy: held, notes, retained, wakeAt: clock.wakeAt });
};

/** Objects made from a newer state of the authority; only objects of its own namespace count. */
const aheadOf = ({ state, policy, objects, elsewhere }: PlanningContext): readonly ObjectSeen[] => {
  const asked = new Set([...policy.leaves, ...policy.bundles].map(({ object }) => object));
  return [...asked].flatMap((id) => {
    const object = elsewhere.has(id) ? undefined : objects.get(id);
    return object !== undefined && (object.revision ?? 0) > state.revision ? [object] : [];
  });
};

/**
 * Whether an object of its own namespace trusts a generation or holds a leaf of it. Where objects are newer than the state, a generation that is out
 * of use was distrusted before the state was restored: to do it again would replace the CA that is in use by one that no peer has.
 */
const isInUse = ({ state, policy, objects, elsewhere }: PlanningContext, number: number): boolean => {
  const anchors = new Set(generationOf(state, number)?.anchors.map(({ fingerprint }) => fingerprint));
  return [...policy.leaves, ...policy.bundles].some(({ object }) => {
    const seen = elsewhere.has(object) ? undefined : objects.get(object);
    return (
      seen !== undefined &&
      [...seen.anchors.map(({ fingerprint }) => fingerprint), seen.leaf?.issuer ?? ''].some((one) =>
        anchors.has(one),
      )
    );
  });
};

/** A stamp in another namespace is a claim. */
const stampsIn = ({ consumers }: Observed): readonly Stamp[] =>
  consumers
    .filter(({ blocks }) => blocks)
    .flatMap(({ workload, instances }) => [workload?.stamp, ...instances.map(({ stamp }) => stamp)])
    .filter((stamp) => stamp !== undefined);

const stampedBy = (seen: Observed): Taken => {
  const stamps = stampsIn(seen);
  return {
    generation: Math.max(0, ...stamps.map(({ trust }) => trust)),
    distrusts: Math.max(0, ...stamps.map(({ distrusts }) => distrusts)),
  };
};

/** Stamps of its own CAs may count distrusts that the state forgot in a restore: the next one must be no such number. */
const distrustsIn = (state: AuthorityState, seen: Observed): number =>
  Math.max(0, ...stampsIn(seen).map((stamp) => believedStamp(state, stamp)?.distrusts ?? 0));

/** The first generation; or, where CAs are already in use, an adopted one and its successor. */
const beginning = (seen: Observed): Swap => {
  const [first, ...rest] = seen.adoptable;
  const adoptsKey = first !== undefined && seen.adoptableKey === true;
  // Lost state: numbers and revisions go on from those of the objects, because both only move forward.
  const generation = stampedBy(seen).generation + 1;
  const revision = Math.max(0, ...seen.objects.map((object) => object.revision ?? 0)) + 1;
  const adopts = first === undefined ? undefined : ([first, ...rest] as const);
  const unseen = seen.adoptableUntil === undefined ? {} : { unseenUntil: seen.adoptableUntil };
  if (adoptsKey && adopts !== undefined) {
    const why = 'an existing CA is adopted with its key';
    return {
      kind: 'mint',
      generation,
      as: 'current',
      id: undefined,
      adopts,
      adoptsKey,
      ...unseen,
      expect: undefined,
      revision,
      why,
    };
  }
  return {
    kind: 'mint',
    generation,
    as: adopts === undefined ? 'current' : 'next',
    id: adopts === undefined ? undefined : `schedule-${generation - 1}`,
    adopts,
    ...(adopts === undefined ? {} : unseen),
    expect: undefined,
    revision,
    why:
      adopts === undefined
        ? 'the authority has no CA yet'
        : 'CAs without their keys are in use, and stay trusted',
  };
};

/** What another program changed says nothing about a rotation; unless it cannot be written, it is put right by the next pass. */
const isDamaged = ({ edited, obstacle, revision }: ObjectSeen): boolean =>
  edited === true && (obstacle === undefined || revision === undefined);

/** Read from the roles, and at the end from the authority's own objects; never from evidence. */
export const phaseOf = (
  state: AuthorityState | undefined,
  seen: Pick<Observed, 'objects'>,
  policy: Pick<Policy, 'leaves' | 'bundles'>,
): Phase => {
  if (state === undefined) return 'Stable';
  if (withRole(state, 'next') !== undefined) return 'Introducing';
  if (withRole(state, 'previous') !== undefined) return 'Activating';
  if (withRole(state, 'distrusted') !== undefined) return 'Retiring';
  // Without a rotation or a distrust no CA has been retired: objects that are behind are new, or cannot be written.
  if (state.ids.length === 0 && state.distrusts === 0) return 'Stable';
  const own = [...policy.leaves, ...policy.bundles].filter(({ elsewhere }) => elsewhere !== true);
  const managed = new Set(own.map(({ object }) => object));
  const behind = seen.objects.some(
    (object) => managed.has(object.id) && !isDamaged(object) && (object.revision ?? 0) < state.revision,
  );
  return behind ? 'Retiring' : 'Stable';
};

const modeNotes = (context: PlanningContext, mode: GateMode): Note[] => {
  const notes: Note[] = [];
  if (mode.strict !== undefined && context.policy.strategy === 'Instant') {
    notes.push({ code: 'InstantBecamePhased', object: 'rotation', message: mode.strict });
  }
  if (mode.late) {
    notes.push({
      code: 'DeadlinePassed',
      object: 'rotation',
      message:
        'the old CA is about to expire, or not valid yet: the new CA signs without waiting for consumers that have not confirmed',
    });
  }
  return notes;
};
