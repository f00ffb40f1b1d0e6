import {
  type Action,
  type ConsumerSeen,
  Contended,
  closeness,
  covers,
  explain,
  formatStamp,
  type Note,
  type Plan,
  renewalDueAt,
  type ServingState,
  type Stamp,
  waitGroups,
} from '@handover/core';
import {
  type AuthorityId,
  type AuthorityOutcome,
  idOf,
  type Observation,
  servingRemedy,
  servingsIn,
} from '@handover/engine';
import { after, type Instant, iso, minute } from '@handover/material';
import type { Happening } from './event.ts';

/** About the Authority itself, or about one of its Leaves (`namespace/name`). */
export interface AuthorityHappening extends Happening {
  readonly leaf?: string;
}

/** How many names one Event has room for. */
const MOST_NAMED = 10;
/** Events per step that name what it waits for; the status names the rest. */
const MOST_WAITS = 5;
/** An API server forgets Events after an hour, and these must not be forgotten. */
const AGAIN_MS = 50 * minute;
const LASTING: ReadonlySet<string> = new Set([
  'ExpiringSoon',
  'Critical',
  'Contended',
  'Refused',
  'ServesOlder',
  'ServesOther',
  'ServesNothing',
  'ServesForeign',
  'ServesExpired',
]);

/** True of a plan that acts as well: the step that a deadline brings about is taken at once. */
const LOUD: ReadonlySet<string> = new Set(['DeadlinePassed', 'ExpiringSoon', 'Critical']);

interface Memory {
  /** Whether a rotation or a distrust was seen to be under way. */
  moving: boolean;
  revision: number;
  readonly named: Set<string>;
  waits: number;
  impatient: boolean;
  /** What was said and still holds, by code and object. */
  readonly said: Map<string, Instant>;
  readonly stamps: Map<string, Stamp | undefined>;
  /** Rollouts that have not come to an end yet. */
  readonly rolling: Map<string, Stamp>;
}

const newMemory = (): Memory => ({
  moving: false,
  revision: -1,
  named: new Set(),
  waits: 0,
  impatient: false,
  said: new Map(),
  stamps: new Map(),
  rolling: new Map(),
});

const REASONS = {
  mint: ['Normal', 'GenerationMinted', 'Mint'],
  activate: ['Normal', 'GenerationActivated', 'Activate'],
  retire: ['Normal', 'GenerationRetired', 'Retire'],
  drop: ['Normal', 'GenerationDropped', 'Drop'],
  distrust: ['Warning', 'GenerationDistrusted', 'Distrust'],
  'distrust-done': ['Normal', 'DistrustDone', 'Distrust'],
} as const satisfies Partial<Record<Action['kind'], readonly [Happening['type'], string, string]>>;

const stepOf = (plan: Plan, action: Action): readonly AuthorityHappening[] => {
  const told = action.kind in REASONS ? REASONS[action.kind as keyof typeof REASONS] : undefined;
  if (told === undefined) return [];
  const [type, reason, step] = told;
  // Its owner's patience is over, or too many are retained: leaves that are in use are refused from now on.
  const overtakes =
    action.kind === 'drop' &&
    plan.retained.some(
      ({ generation, elsewhere, unseen }) =>
        generation === action.generation && (elsewhere.length > 0 || unseen),
    );
  const [sentence = ''] = explain({ ...plan, actions: [action], blockedBy: [], notes: [] });
  return [{ type: overtakes ? 'Warning' : type, reason, action: step, note: sentence }];
};

const few = (items: readonly string[], join = '; '): string =>
  items.length <= MOST_NAMED
    ? items.join(join)
    : `${items.slice(0, MOST_NAMED).join(join)}${join}and ${items.length - MOST_NAMED} more, see status`;

const WARNINGS: Readonly<Partial<Record<Note['code'], Happening['type']>>> = {
  AwayWhileRestarting: 'Normal',
  InstantBecamePhased: 'Normal',
  Retained: 'Normal',
  BehindElsewhere: 'Normal',
  RestsOnCrossCertificate: 'Normal',
};

/** Turns passes over authorities into Events. Each Event is told when its cause begins, not at every look. */
export class Happenings {
  readonly #memories = new Map<AuthorityId, Memory>();

  /** The Events of one pass. */
  after(
    id: AuthorityId,
    { observation, plan }: Pick<AuthorityOutcome, 'observation' | 'plan'>,
  ): readonly AuthorityHappening[] {
    const memory = this.#memories.get(id) ?? newMemory();
    this.#memories.set(id, memory);
    const told = [
      ...plan.actions.flatMap((action) => stepOf(plan, action)),
      ...rollouts(memory, observation),
    ];
    const generations = (observation.record?.state.generations ?? []).filter(
      ({ role }) => role !== 'retained',
    );
    if (generations.length > 1) memory.moving = true;
    // A plan with actions does not know the blockers of the next step yet.
    if (plan.actions.length > 0)
      return [
        ...told,
        ...begun(
          memory,
          observation.now,
          ownNotes(plan.notes, observation.seen.consumers).filter(({ code }) => LOUD.has(code)),
        ),
      ];
    if (memory.moving && plan.phase === 'Stable' && generations.length === 1) {
      memory.moving = false;
      const note = `CA generation ${generations[0]?.number} is the only one in use, and every object holds it.`;
      told.push({ type: 'Normal', reason: 'RotationDone', action: 'Rotate', note });
    }
    return [...told, ...waits(memory, observation, plan), ...worries(memory, observation, plan)];
  }

  forget(id: AuthorityId): void {
    this.#memories.delete(id);
  }
}

const waits = (memory: Memory, observation: Observation, plan: Plan): readonly AuthorityHappening[] => {
  const revision = observation.record?.state.revision ?? 0;
  if (memory.revision !== revision) {
    memory.revision = revision;
    memory.named.clear();
    memory.waits = 0;
    memory.impatient = false;
  }
  const told: AuthorityHappening[] = [];
  const blockers = new Map(plan.blockedBy.map((blocker) => [blocker.consumer, blocker]));
  const fresh = [...blockers.values()].filter(({ consumer }) => !memory.named.has(consumer));
  for (const { consumer } of fresh) memory.named.add(consumer);
  if (fresh.length > 0 && memory.waits++ < MOST_WAITS) {
    told.push({
      type: 'Normal',
      reason: 'WaitingFor',
      action: plan.phase,
      note: `${plan.phase}: ${few(waitGroups(fresh, MOST_NAMED).map(({ phrase }) => phrase))}`,
    });
  }
  const { patience, onBlocked } = observation.responsibilities.policy;
  const over = plan.blockedBy.filter(({ since }) => observation.now >= after(since, patience));
  if (over.length > 0 && !memory.impatient) {
    memory.impatient = true;
    const who = few([...new Set(over.map(({ consumer }) => consumer))], ', ');
    const note = `${plan.phase}: waited longer than rotation.patience for ${who}; rotation.onBlocked is ${onBlocked}`;
    told.push({ type: 'Warning', reason: 'PatienceOver', action: plan.phase, note });
  }
  return told;
};

interface Worry {
  readonly code: string;
  readonly object: string;
  readonly message: string;
  readonly leaf?: string;
}

const worriesIn = (observation: Observation, plan: Plan): readonly Worry[] => [
  ...ownNotes(plan.notes, observation.seen.consumers),
  ...observation.seen.objects.flatMap(({ id: object, obstacle }): readonly Worry[] =>
    obstacle === undefined
      ? []
      : [
          {
            object,
            ...(obstacle instanceof Contended
              ? { code: 'Contended', message: obstacle.message }
              : { code: 'CannotWrite', message: obstacle }),
          },
        ],
  ),
  ...observation.responsibilities.refused.map(({ leaf, why }) => ({
    code: 'Refused',
    object: `Leaf ${leaf}`,
    message: why,
    leaf,
  })),
  ...leafWorries(observation),
  ...servingWorries(observation),
];

const SERVING_CODES = {
  newest: 'ServesNewest',
  older: 'ServesOlder',
  other: 'ServesOther',
  unseen: 'ServesNothing',
  foreign: 'ServesForeign',
  expired: 'ServesExpired',
} as const satisfies Record<ServingState, string>;

/** Servers that show a wrong certificate, or none. Those of other namespaces are the business of their owners. */
const servingWorries = (observation: Observation): readonly Worry[] => {
  const blocking = new Set(observation.seen.consumers.flatMap(({ id, blocks }) => (blocks ? [id] : [])));
  return [...servingsIn(observation)].flatMap(([object, [worst]]): readonly Worry[] =>
    worst?.wrong === true && blocking.has(object)
      ? [
          {
            code: SERVING_CODES[worst.state],
            object,
            message: `${worst.instance === object ? '' : `${worst.instance} `}${worst.text}; ${servingRemedy(worst)}`,
          },
        ]
      : [],
  );
};

const leafWorries = ({ responsibilities, seen, now }: Observation): readonly Worry[] =>
  seen.objects.flatMap(({ id, leaf: held }): readonly Worry[] => {
    const leaf = responsibilities.leaves.get(id);
    if (leaf === undefined || held === undefined) return [];
    const code = closeness(renewalDueAt(held, leaf.spec.renew.at), held.notAfter, now);
    const message = `the certificate expires at ${iso(held.notAfter)} and has not been renewed`;
    return code === undefined ? [] : [{ code, object: `Secret ${id}`, message, leaf: idOf(leaf) }];
  });

const keyOf = ({ code, object }: Worry): string => `${code} ${object}`;

const worries = (memory: Memory, observation: Observation, plan: Plan): readonly AuthorityHappening[] => {
  const all = worriesIn(observation, plan);
  const holding = new Set(all.map(keyOf));
  const told = begun(memory, observation.now, all);
  for (const key of memory.said.keys()) if (!holding.has(key)) memory.said.delete(key);
  return told;
};

/** New problems, those of one kind together in one Event. */
const begun = (memory: Memory, now: Instant, all: readonly Worry[]): readonly AuthorityHappening[] => {
  const groups = new Map<string, Worry[]>();
  for (const worry of all) {
    const before = memory.said.get(keyOf(worry));
    const due = before === undefined || (LASTING.has(worry.code) && now >= after(before, AGAIN_MS));
    if (!due) continue;
    memory.said.set(keyOf(worry), now);
    const group = `${worry.code} ${worry.leaf ?? ''}`;
    groups.set(group, [...(groups.get(group) ?? []), worry]);
  }
  return [...groups.values()].flatMap((group): readonly AuthorityHappening[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { code, leaf } = first;
    return [
      {
        type: WARNINGS[code as Note['code']] ?? 'Warning',
        reason: code,
        action: 'Observe',
        note: few(group.map(({ object, message }) => `${object}: ${message}`)),
        ...(leaf === undefined ? {} : { leaf }),
      },
    ];
  });
};

const reasonFor = (before: Stamp | undefined, now: Stamp): string => {
  if ((before?.distrusts ?? 0) < now.distrusts) return 'a CA is distrusted';
  if ((before?.trust ?? 0) < now.trust) return `CA generation ${now.trust} is in its files`;
  return 'its leaf was renewed';
};

/** Read off the stamps: a rollout that failed does not hide the others. */
const rollouts = (memory: Memory, { seen }: Observation): readonly AuthorityHappening[] => {
  const started: string[] = [];
  const ended: string[] = [];
  for (const { id, workload, instances } of seen.consumers) {
    if (workload === undefined) continue;
    const { stamp, rolling, warning } = workload;
    const known = memory.stamps.has(id);
    const before = memory.stamps.get(id);
    memory.stamps.set(id, stamp);
    if (stamp === undefined) continue;
    if (known && (before === undefined || formatStamp(before) !== formatStamp(stamp))) {
      memory.rolling.set(id, stamp);
      started.push(
        `${id} (${reasonFor(before, stamp)}${warning === undefined ? '' : `; beware: ${warning}`})`,
      );
    }
    const awaited = memory.rolling.get(id);
    if (awaited === undefined || rolling || !instances.every((one) => covers(one.stamp, awaited))) continue;
    memory.rolling.delete(id);
    ended.push(id);
  }
  return [
    ...(started.length === 0 ? [] : [rollout('RolloutStarted', `Restarting ${few(started)}`)]),
    ...(ended.length === 0 ? [] : [rollout('RolloutEnded', `Restarted: ${few(ended, ', ')}`)]),
  ];
};

const rollout = (reason: string, note: string): AuthorityHappening => ({
  type: 'Normal',
  reason,
  action: 'Restart',
  note,
});

/** What concerns the authority: of a consumer elsewhere the log and `handover status` tell, and no condition or Event of its own. */
export const ownNotes = (notes: readonly Note[], consumers: readonly ConsumerSeen[]): readonly Note[] => {
  const elsewhere = new Set(consumers.flatMap(({ id, blocks }) => (blocks ? [] : [id])));
  return notes.filter(({ object }) => !elsewhere.has(object));
};
