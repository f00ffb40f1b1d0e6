import { type Blocker, waitingText } from '@handover/core';
import type { AuthorityOutcome } from '../controller/reconcile.ts';
import { EngineError } from '../error.ts';
import { casIn, consentedBy, ownObjects, undecidedIn } from '../observe/adoption.ts';
import type { Observation } from '../observe/observe.ts';
import { aheadIn } from '../report/health.ts';
import type { AuthorityId, Home, ObjectId } from '../snapshot/home.ts';
import type { Orphaned } from '../snapshot/snapshot.ts';

/** What `--overwrite` does where the key of the CAs in use is lost. */
const RECOVERS =
  'run with --overwrite: it keeps trusting the CAs in use, distributes a new CA, and replaces the certificates once every consumer has it';

const MOST_NAMED = 3;

const andOthers = ([first, ...others]: readonly string[], one: string, many: string): string =>
  others.length === 0
    ? `${first} ${one}`
    : `${first} and ${others.length} other ${others.length === 1 ? 'object' : 'objects'} ${many}`;

/** What still has to be decided before a run with `--overwrite`, which may write on every object, could begin. */
export const undecidedBy = (observation: Observation): Orphaned | undefined => {
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
export const refuseLostState = async (home: Home, observation: Observation): Promise<void> => {
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
export const refuseStuck = async (home: Home, { plan, observation }: AuthorityOutcome): Promise<void> => {
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
