import {
  ADOPT,
  type AuthorityState,
  type Blocker,
  phaseOf,
  plan,
  type Resource,
  withRole,
} from '@handover/core';
import { after, type Instant, second } from '@handover/material';
import { act } from '../act/act.ts';
import { converge, isConflict, type Outcome } from '../controller/reconcile.ts';
import { EngineError } from '../error.ts';
import type { Catalogue } from '../look/catalogue.ts';
import type { AuthorityId, Home, ObjectId } from '../look/home.ts';
import { type Observation, observe } from '../observe/observe.ts';

export interface CertgenOptions {
  /** Replace what is there: ask for a rotation, or go on with the one under way. */
  readonly overwrite: boolean;
  /** Name of the rotation: the same one never rotates twice, so a Job that is retried goes on. */
  readonly rotationId?: string | undefined;
  /** Records that a rotation is asked for. */
  readonly ask: (authority: AuthorityId, id: string) => Promise<void>;
  /** Objects that every run puts right, also one that only makes what is missing. Default: none. */
  readonly keeps?: ((object: ObjectId) => boolean) | undefined;
}

export interface CertgenResult {
  readonly authority: AuthorityId;
  readonly phase: string;
  /** Objects that were written. */
  readonly written: number;
  /** The rotation that was asked for; undefined: none. */
  readonly rotation: string | undefined;
  readonly blockedBy: readonly Blocker[];
  /** When a further run may get further even if nothing changes. */
  readonly wakeAt: Instant | undefined;
  /** Whether workloads will be restarted as soon as no cache can hand them the old files: whoever ends before that leaves them. */
  readonly restartsDue: boolean;
}

/** `--overwrite` says that what is there is to be replaced: no further word is needed. What is trusted, `spec.adopt` says. */
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

/** Two runs at once overtake each other; each time one of them has got further. */
const MOST_RACES = 20;

/** One run for one authority: makes what is missing, and with `overwrite` advances a rotation as far as evidence allows. */
export async function certgen(
  home: Home,
  catalogue: Catalogue,
  id: AuthorityId,
  options: CertgenOptions,
): Promise<CertgenResult> {
  const replaces = options.overwrite || options.rotationId !== undefined;
  // Whoever found nothing has asked for a first generation, even if another run was faster: not for a second one.
  const isFirst = (await home.authorities.load(id)) === undefined;
  return throughRaces(home, (counted) =>
    replaces
      ? replace(counted, catalogue, id, options, isFirst)
      : makeMissing(counted, catalogue, id, options.keeps ?? (() => false)),
  );
}

/** Takes what is asked for or under way as far as evidence allows. */
export const advance = (home: Home, catalogue: Catalogue, id: AuthorityId): Promise<CertgenResult> =>
  throughRaces(home, async (counted) => resultOf(counted, await converge(counted, catalogue, id), undefined));

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
  home: Home,
  catalogue: Catalogue,
  id: AuthorityId,
  options: CertgenOptions,
  isFirst: boolean,
): Promise<Done> => {
  const before = await home.authorities.load(id);
  let rotation = options.rotationId;
  if (before === undefined) await begin(home, catalogue, id, rotation);
  else if (!isFirst || rotation !== undefined) {
    rotation ??= await unnamedRotation(home, catalogue, id, before.state);
    if (!before.state.ids.includes(rotation)) await options.ask(id, rotation);
  }
  const outcome = await converge(home, catalogue, id);
  const state = (await home.authorities.load(id))?.state;
  const [undecided] = state === undefined ? outcome.plan.blockedBy : [];
  if (undecided !== undefined) {
    throw new EngineError(
      'ADOPT_UNDECIDED',
      `${id} cannot begin: ${undecided.consumer} needs ${undecided.waitsFor}`,
      { path: undecided.consumer },
    );
  }
  if (
    rotation !== undefined &&
    state !== undefined &&
    !state.ids.includes(rotation) &&
    before !== undefined
  ) {
    const last = outcome.plan;
    const [first] = last.blockedBy;
    throw new EngineError(
      'ROTATION_WAITS',
      `rotation ${rotation} of ${id} has to wait until the last one has ended: ${first === undefined ? last.phase : `${first.consumer} is waited for (${first.waitsFor})`}; run again later`,
      { path: id, retry: 'later' },
    );
  }
  return resultOf(home, outcome, rotation);
};

const resultOf = (home: Home, { plan: last, observation }: Outcome, rotation: string | undefined): Done => {
  const { phase, blockedBy, wakeAt } = last;
  return {
    authority: observation.responsibilities.id,
    phase,
    rotation,
    blockedBy,
    wakeAt,
    restartsDue: restartsDue(home, observation),
  };
};

/** A home tells its time to the second. */
const WHOLE_SECOND = 2 * second;

/** Asks the planner: would anything be restarted now, had what was written been there for long enough? */
const restartsDue = ({ facts }: Home, { seen, responsibilities, now }: Observation): boolean => {
  const settled = after(now, facts.cacheLag + WHOLE_SECOND);
  return plan(seen, responsibilities.policy, settled).actions.some(({ kind }) => kind === 'stamp');
};

/** Without a name: the rotation under way if it cannot end now, so that a retried Job goes on; else one of this generation. */
const unnamedRotation = async (
  home: Home,
  catalogue: Catalogue,
  id: AuthorityId,
  before: AuthorityState,
): Promise<string> => {
  if (isMoving(before)) await converge(home, catalogue, id);
  const state = (await home.authorities.load(id))?.state ?? before;
  const underWay = isMoving(state) ? state.ids.at(-1) : undefined;
  return underWay ?? `overwrite-${state.lastGeneration}`;
};

const isMoving = (state: AuthorityState): boolean =>
  (['next', 'previous', 'distrusted'] as const).some((role) => withRole(state, role) !== undefined);

/** The very first generation uses the id up: a first run that is cut short and tried again does not rotate. */
const begin = async (
  home: Home,
  catalogue: Catalogue,
  id: AuthorityId,
  rotation: string | undefined,
): Promise<void> => {
  const observation = await observe(home, catalogue, id);
  for (const action of plan(observation.seen, observation.responsibilities.policy, observation.now).actions) {
    await act(home, observation, action.kind === 'mint' ? { ...action, id: rotation ?? action.id } : action);
  }
};

const countingWrites = (home: Home): { home: Home; count: () => number } => {
  let count = 0;
  return {
    count: () => count,
    home: {
      objects: {
        // Asked for each time: a home may look at another copy of the world from one look to the next.
        read: (id) => home.objects.read(id),
        whyAbsent: (id) => home.objects.whyAbsent?.(id),
        issuedBy: (...args) => home.objects.issuedBy(...args),
        write: async (...args) => {
          await home.objects.write(...args);
          count++;
        },
      },
      authorities: home.authorities,
      requests: home.requests,
      evidence: home.evidence,
      reloads: home.reloads,
      clock: home.clock,
      keyring: home.keyring,
      random: home.random,
      facts: home.facts,
      rollouts: home.rollouts,
      resources: home.resources,
      issuer: home.issuer,
      ledger: home.ledger,
    },
  };
};

/** Without `overwrite` nothing that exists is touched, whatever its age: the rule of Envoy Gateway's own certgen. */
const makeMissing = async (
  home: Home,
  catalogue: Catalogue,
  id: AuthorityId,
  keeps: (object: ObjectId) => boolean,
): Promise<Done> => {
  for (let passes = 0; ; passes++) {
    const observation = await observe(home, catalogue, id);
    const { responsibilities, record, stored, seen, now } = observation;
    const missing = [...responsibilities.leaves.keys()].filter((object) => !stored.has(object));
    const phase = phaseOf(record?.state, seen, responsibilities.policy);
    const result = {
      authority: id,
      phase,
      rotation: undefined,
      blockedBy: [],
      wakeAt: undefined,
      restartsDue: false,
    };
    const foreign = [...responsibilities.leaves.keys()].find((object) => stored.has(object));
    if (record === undefined && foreign !== undefined && seen.adoptableKey !== true) {
      if (missing.length === 0) return result;
      throw new EngineError(
        'CERTGEN_NO_KEY',
        `${missing[0]} is missing, and the key of the CA in ${foreign} is not known; name that CA in spec.adopt of the Authority and run with --overwrite to take it over`,
        { path: missing[0] ?? id },
      );
    }
    const actions = plan(seen, responsibilities.policy, now).actions.filter((action) =>
      'object' in action ? action.expect === undefined || keeps(action.object) : record === undefined,
    );
    if (actions.length === 0 || passes === 8) return result;
    for (const action of actions) await act(home, observation, action);
  }
};
