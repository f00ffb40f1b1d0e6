import {
  ADOPT,
  type AuthorityState,
  type Blocker,
  isMoving,
  phaseOf,
  plan,
  type Resource,
  type RestsOnTime,
  restsOnTime,
  waitingText,
  withRole,
} from '@handover/core';
import { after, type Certificate, type Instant, iso, second } from '@handover/material';
import { act } from '../act/act.ts';
import { type AuthorityOutcome, converge, isConflict } from '../controller/reconcile.ts';
import { EngineError } from '../error.ts';
import { casIn, consentedBy, ownObjects, undecidedIn } from '../observe/adoption.ts';
import { type Observation, observeWithRetry } from '../observe/observe.ts';
import { aheadIn } from '../report/health.ts';
import { dueIn } from '../report/status.ts';
import type { AuthorityId, AuthorityWriter, Home, ObjectId, ObjectWriter } from '../snapshot/home.ts';
import type { Responsibilities } from '../snapshot/responsibilities.ts';
import type { Orphaned, ReadSnapshot } from '../snapshot/snapshot.ts';
import { bundleKeyOf, readableCertificates } from '../snapshot/stored-object.ts';

/** What `--overwrite` does where the key of the CAs in use is lost. */
const RECOVERS =
  'run with --overwrite: it keeps trusting the CAs in use, distributes a new CA, and replaces the certificates once every consumer has it';

const MOST_NAMED = 3;

const andOthers = ([first, ...others]: readonly string[], one: string, many: string): string =>
  others.length === 0
    ? `${first} ${one}`
    : `${first} and ${others.length} other ${others.length === 1 ? 'object' : 'objects'} ${many}`;

/** What still has to be decided before a run with `--overwrite`, which may write on every object, could begin. */
const undecidedBy = (observation: Observation): Orphaned | undefined => {
  const { responsibilities, stored, now } = observation;
  return undecidedIn(responsibilities, stored, consentedBy(observation), now)[0];
};

const undecided = (id: AuthorityId, wait: Blocker): Error =>
  new EngineError('ADOPT_UNDECIDED', `${id} cannot start: ${waitingText([wait])}`, { path: wait.consumer });

/** The place of an authority's state, as a person finds it. */
const stateIn = async (home: Home, id: AuthorityId): Promise<string> =>
  (await home.fresh()).authorities.placeOf?.(id) ?? `the state of ${id}`;

/**
 * Refuses to leave alone what this authority made itself, as objects of its namespace say: without its state no run can renew it. Their
 * seals cannot be checked without the state, and nothing is written by what they say.
 */
const refuseLostState = async (home: Home, observation: Observation): Promise<void> => {
  const { responsibilities, stored, now } = observation;
  const { id } = responsibilities;
  const made = ownObjects(responsibilities, stored).filter(
    ([, { claim }]) => claim !== undefined && (claim.seal.by === id || id in (claim.seal.also ?? {})),
  );
  const cas = new Set(
    made.flatMap(([object, found]) => casIn(object, found, now).map(({ fingerprint }) => fingerprint)),
  );
  if (cas.size === 0) return;
  const open = undecidedBy(observation);
  if (open !== undefined) throw undecided(id, { consumer: open.object, waitsFor: open.waitsFor, since: now });
  const place = await stateIn(home, id);
  const shown = [...cas].slice(0, MOST_NAMED).join(', ');
  const more = cas.size > MOST_NAMED ? ` and ${cas.size - MOST_NAMED} more` : '';
  const lost =
    cas.size === 1
      ? `a CA whose state is missing, and the key of that CA with it (fingerprint ${shown})`
      : `CAs whose state is missing, and the keys of these CAs with it (fingerprints ${shown}${more})`;
  const what = andOthers(
    made.map(([object]) => object),
    'holds',
    'hold',
  );
  throw new EngineError(
    'CERTGEN_STATE_MISSING',
    `${what} ${lost}: no run can renew a certificate; restore ${place} from its latest backup; if there is none, ${RECOVERS}`,
    { path: id },
  );
};

/** Refuses to wait for what no later run can resolve. */
const refuseStuck = async (home: Home, { plan, observation }: AuthorityOutcome): Promise<void> => {
  const { responsibilities, record } = observation;
  const { id } = responsibilities;
  const [first] = record === undefined ? plan.blockedBy : [];
  if (first !== undefined) throw undecided(id, first);
  const ahead = aheadIn(plan, observation).map(({ consumer }): ObjectId => consumer);
  if (ahead.length === 0) return;
  const place = await stateIn(home, id);
  const remedy =
    undecidedBy(observation) === undefined
      ? `delete ${place} and ${RECOVERS}`
      : `delete ${place} and run again: the next run says how to keep the CAs in use`;
  throw new EngineError(
    'CERTGEN_STATE_OUTDATED',
    `${place} is at revision ${record?.state.revision}, and ${andOthers(ahead, 'is', 'are')} from a later one, as if the state was restored from a backup: no run can change anything; restore its latest version; if there is none, ${remedy}`,
    { path: id },
  );
};

interface NotValid {
  readonly object: ObjectId;
  /** Completes a sentence that begins with the object. */
  readonly why: string;
}

/** Leaves' objects that hold a certificate out of its dates: of this authority, or of another program that was left alone. */
const notValidIn = ({
  responsibilities,
  stored,
  now,
}: Pick<Observation, 'responsibilities' | 'stored' | 'now'>): readonly NotValid[] =>
  [...responsibilities.leaves.keys()].flatMap((object) => {
    const data = stored.get(object)?.data;
    if (data === undefined) return [];
    const [leaf] = readableCertificates(data['tls.crt']);
    const cas = readableCertificates(data[bundleKeyOf(object)]);
    const why = leafTrouble(leaf, now) ?? bundleTrouble(cas, now);
    return why === undefined ? [] : [{ object, why }];
  });

const leafTrouble = (leaf: Certificate | undefined, now: Instant): string | undefined => {
  if (leaf === undefined) return 'holds no readable certificate';
  const dates = outOfDates(leaf, now);
  return dates === undefined ? undefined : `holds a certificate that ${dates}`;
};

/** One CA within its dates is enough: others may be on their way in or out. */
const bundleTrouble = (cas: readonly Certificate[], now: Instant): string | undefined => {
  const [first] = cas;
  if (first === undefined) return 'holds no readable CA';
  if (cas.some((ca) => outOfDates(ca, now) === undefined)) return undefined;
  return `holds a CA that ${outOfDates(first, now)}`;
};

const outOfDates = ({ notBefore, notAfter }: Certificate, now: Instant): string | undefined => {
  if (now >= notAfter) return `expired at ${iso(notAfter)}`;
  return now < notBefore ? `is not valid before ${iso(notBefore)}` : undefined;
};

export interface CertgenOptions {
  /** Replace existing certificates: request a rotation, or continue the one in progress. */
  readonly overwrite: boolean;
  /** Id of the rotation: the same id never rotates twice, so that a retried Job continues. */
  readonly rotationId?: string | undefined;
  /** A rotation begins in this run: called before anything that a program reads is written. */
  readonly onBegin?: ((ahead: RotationAhead) => void) | undefined;
}

/** A workload that a rotation restarts, and that is away meanwhile: condition `WillInterrupt` of an Authority in an operator. */
export interface Interrupted {
  readonly consumer: string;
  readonly why: string;
}

/** What a rotation of an authority has ahead, as far as its consumers show. */
export interface RotationAhead {
  readonly authority: AuthorityId;
  /** Consumers for which it takes the time since a write as evidence. */
  readonly restsOnTime: readonly RestsOnTime[];
  readonly willInterrupt: readonly Interrupted[];
}

export interface CertgenResult extends RotationAhead {
  readonly phase: string;
  /** Objects that were written. */
  readonly written: number;
  /** The requested rotation; undefined: none. */
  readonly rotation: string | undefined;
  readonly blockedBy: readonly Blocker[];
  /** When another run may take the next step even if nothing changes. */
  readonly dueAt: Instant | undefined;
  /** Whether workloads have to be restarted once kubelet caches have expired: a run that ends earlier does not restart them. */
  readonly restartsDue: boolean;
  /** Objects with a certificate that peers refuse at this moment because of its dates, each with the reason. */
  readonly notValid: readonly NotValid[];
  /** Leaves that this authority refuses, each with the reason. */
  readonly refused: Responsibilities['refused'];
}

/** With `--overwrite` objects of other programs may be replaced without an annotation. `spec.adopt` still decides what is trusted. */
export const takingOver = (resources: readonly Resource[]): readonly Resource[] =>
  resources.map(
    (resource) =>
      ({
        ...resource,
        metadata: {
          ...resource.metadata,
          annotations: { ...resource.metadata.annotations, [ADOPT]: 'true' },
        },
      }) as Resource,
  );

/** How things stand between two runs of certgen: no process takes over CAs by itself. */
export const betweenRuns =
  (read: ReadSnapshot): ReadSnapshot =>
  async () => {
    const snapshot = await read();
    return { ...snapshot, facts: { ...snapshot.facts, adoptsOnlyAsked: true } };
  };

/** Of two runs at once each conflict stops one, and the other makes progress. */
const MOST_RACES = 20;

/**
 * One run for one authority: creates what is missing, renews what is due and advances a rotation as far as evidence allows. With
 * `overwrite` it begins one.
 */
export async function certgen(home: Home, id: AuthorityId, options: CertgenOptions): Promise<CertgenResult> {
  const replaces = options.overwrite || options.rotationId !== undefined;
  // A run that found nothing wants a first generation, not a second one, even if another run was faster.
  const isFirst = (await stateOf(home, id)) === undefined;
  const announced = announcing(home, id, options.onBegin);
  return throughRaces(announced, (counted) =>
    replaces ? replace(counted, id, options, isFirst) : keepUp(counted, id),
  );
}

const aheadOf = ({ seen, responsibilities: { id, policy } }: Observation): RotationAhead => ({
  authority: id,
  restsOnTime: restsOnTime(seen, policy),
  willInterrupt: seen.consumers.flatMap(({ id: consumer, reload, workload }) =>
    reload === 'restart' && workload?.warning !== undefined ? [{ consumer, why: workload.warning }] : [],
  ),
});

/** Says what is ahead before the write of the state with which a rotation begins. */
const announcing = (home: Home, id: AuthorityId, onBegin: CertgenOptions['onBegin']): Home => {
  if (onBegin === undefined) return home;
  let said = false;
  const swap: AuthorityWriter['swap'] = async (which, expect, record) => {
    const next = withRole(record.state, 'next');
    if (which === id && !said && next !== undefined) {
      const observation = await observeWithRetry(home.fresh, id);
      const before = observation.record?.state.generations ?? [];
      said = before.every(({ number }) => number !== next.number);
      if (said) onBegin(aheadOf(observation));
    }
    await home.authorities.swap(which, expect, record);
  };
  return { ...home, authorities: { swap } };
};

const stateOf = async (home: Home, id: AuthorityId): Promise<AuthorityState | undefined> =>
  (await (await home.fresh()).authorities.load(id))?.state;

/** Advances a requested or running rotation as far as evidence allows. */
export const advance = (home: Home, id: AuthorityId): Promise<CertgenResult> =>
  throughRaces(home, async (counted) => resultOf(await converge(counted, id), undefined));

type Done = Omit<CertgenResult, 'written'>;

const throughRaces = async (home: Home, work: (home: Home) => Promise<Done>): Promise<CertgenResult> => {
  const counted = countingWrites(home);
  for (let races = 0; ; races++) {
    try {
      const done = await work(counted.home);
      return { ...done, written: counted.count() };
    } catch (error) {
      if (races === MOST_RACES || !isConflict(error)) throw error;
    }
  }
};

const replace = async (
  plain: Home,
  id: AuthorityId,
  options: CertgenOptions,
  isFirst: boolean,
): Promise<Done> => {
  const before = await stateOf(plain, id);
  const home = before === undefined ? await consenting(plain, id) : plain;
  let rotation = options.rotationId;
  if (before === undefined) await begin(home, id, rotation);
  else if (!isFirst || rotation !== undefined) {
    rotation ??= await unnamedRotation(home, id, before);
    if (!before.ids.includes(rotation)) await home.requests.ask({ authority: id, rotate: rotation });
  }
  const outcome = await converge(home, id);
  const state = outcome.observation.record?.state;
  await refuseStuck(home, outcome);
  if (
    rotation !== undefined &&
    state !== undefined &&
    !state.ids.includes(rotation) &&
    before !== undefined
  ) {
    const last = outcome.plan;
    throw new EngineError(
      'ROTATION_WAITS',
      `rotation ${rotation} of ${id} waits for the one before it: ${last.phase}${last.blockedBy.length === 0 ? '' : `, ${waitingText(last.blockedBy)}`}; run again later`,
      { path: id, retry: 'later' },
    );
  }
  return resultOf(outcome, rotation);
};

const resultOf = ({ plan: last, observation }: AuthorityOutcome, rotation: string | undefined): Done => {
  const { phase, blockedBy } = last;
  return {
    ...aheadOf(observation),
    phase,
    rotation,
    blockedBy,
    dueAt: dueIn(observation, last),
    restartsDue: restartsDue(observation),
    notValid: notValidIn(observation),
    refused: observation.responsibilities.refused,
  };
};

/** A home's clock has a resolution of one second. */
const WHOLE_SECOND = 2 * second;

/** Whether the planner would restart anything if kubelet caches had expired by now. */
const restartsDue = ({ seen, responsibilities: { policy }, now }: Observation): boolean => {
  const later = after(now, policy.cacheLag + WHOLE_SECOND);
  return plan(seen, policy, later).actions.some(({ kind }) => kind === 'stamp');
};

/** Without an id: the running rotation if it cannot end now, so that a retried Job continues; else one named after this generation. */
const unnamedRotation = async (home: Home, id: AuthorityId, before: AuthorityState): Promise<string> => {
  const outcome = isMoving(before) ? await converge(home, id) : undefined;
  const state = outcome?.observation.record?.state ?? before;
  const underWay = isMoving(state) ? state.ids.at(-1) : undefined;
  return underWay ?? `overwrite-${state.lastGeneration}`;
};

/** `--overwrite` is consent to take over the CAs in use, as far as `spec.adopt` allows. */
const consenting = async (home: Home, id: AuthorityId): Promise<Home> => {
  const adoption = consentedBy(await observeWithRetry(home.fresh, id));
  return { ...home, fresh: async () => ({ ...(await home.fresh()), given: { authority: id, adoption } }) };
};

/** The first generation consumes the id: a first run that is interrupted and retried does not rotate. */
const begin = async (home: Home, id: AuthorityId, rotation: string | undefined): Promise<void> => {
  const observation = await observeWithRetry(home.fresh, id);
  for (const action of plan(observation.seen, observation.responsibilities.policy, observation.now).actions) {
    await act(home, observation, action.kind === 'mint' ? { ...action, id: rotation ?? action.id } : action);
  }
};

const countingWrites = (home: Home): { home: Home; count: () => number } => {
  let count = 0;
  const write: ObjectWriter['write'] = async (...asked) => {
    await home.objects.write(...asked);
    count++;
  };
  // A run is over before a cache could catch up with it.
  return { count: () => count, home: { ...home, cached: undefined, objects: { write } } };
};

/** Without `overwrite`: certgen looks after what it made. Secrets of other programs stay as they are, whatever their age. */
const keepUp = async (home: Home, id: AuthorityId): Promise<Done> => {
  if ((await stateOf(home, id)) === undefined) {
    const observation = await observeWithRetry(home.fresh, id);
    const { responsibilities, record, stored, seen } = observation;
    const asked = [...responsibilities.leaves.keys()];
    const foreign = asked.find((object) => stored.has(object));
    if (record === undefined && foreign !== undefined && seen.adoptableKey !== true) {
      await refuseLostState(home, observation);
      const missing = asked.find((object) => !stored.has(object));
      if (missing === undefined) return untouched(observation);
      throw new EngineError(
        'CERTGEN_NO_KEY',
        `${missing} is missing, and the key of the CA in ${foreign} is not known; ${undecidedBy(observation) === undefined ? '' : 'name that CA in spec.adopt of the Authority, and '}run with --overwrite to adopt it`,
        { path: missing },
      );
    }
  }
  const outcome = await converge(home, id);
  await refuseStuck(home, outcome);
  return resultOf(outcome, undefined);
};

const untouched = (observation: Observation): Done => ({
  ...aheadOf(observation),
  phase: phaseOf(undefined, observation.seen, observation.responsibilities.policy),
  rotation: undefined,
  blockedBy: [],
  dueAt: undefined,
  restartsDue: false,
  notValid: notValidIn(observation),
  refused: observation.responsibilities.refused,
});
