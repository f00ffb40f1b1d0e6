import { plan } from '@handover/core';
import { act } from '../act/act.ts';
import { asAskedFor, type Observation, objectSeen } from '../observe/observe.ts';
import type { Home, ObjectId, StoredObject } from '../snapshot/home.ts';
import { believed } from '../snapshot/seal.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

/** `last` with a few of its objects looked at again; undefined: more has changed than these. */
async function lookAgain(
  snapshot: Snapshot,
  last: Observation,
  objects: readonly ObjectId[],
): Promise<Observation | undefined> {
  const { responsibilities, record, seen } = last;
  const now = snapshot.clock.now();
  const meanwhile = await snapshot.authorities.load(responsibilities.id);
  if (record === undefined || meanwhile?.state.revision !== record.state.revision) return undefined;
  if (snapshot.clock.steadySince() !== seen.steadySince) return undefined;
  const stored = new Map(last.stored);
  const again = new Map(seen.objects.map((object) => [object.id, object]));
  const read = new Map<ObjectId, StoredObject>();
  for (const id of objects) {
    const found = await snapshot.objects.read(id);
    if (found === undefined) return undefined;
    read.set(id, found);
  }
  const { declared } = last;
  const certificates = [...record.certificates.values()];
  const believing = { authorities: snapshot.authorities, declared, record, responsibilities };
  for (const [id, object] of await believed(read, believing)) {
    if (!responsibilities.bundles.has(id) || !again.has(id)) return undefined;
    const found = asAskedFor(id, object, last.outputs);
    again.set(id, objectSeen(id, found, responsibilities, last.outputs, certificates, now));
    stored.set(id, found);
  }
  return { ...last, stored, now, seen: { ...seen, objects: [...again.values()] } };
}

/**
 * Puts single bundles of an authority at rest right again without looking at all the others, so that what one drift costs does not
 * grow with the fleet. `last` must be an observation on which there was nothing to do. The planner decides as ever; a plan that is about
 * anything but these bundles is left to a whole look. Returns whether that was all there was to do.
 */
export async function repair(home: Home, last: Observation, objects: readonly ObjectId[]): Promise<boolean> {
  if (home.cached === undefined) return false;
  const observation = await lookAgain(await home.cached(), last, objects);
  if (observation === undefined) return false;
  const { actions } = plan(observation.seen, observation.responsibilities.policy, observation.now);
  const meant = new Set(objects);
  for (const action of actions)
    if (action.kind !== 'write-bundle' || action.expect === undefined || !meant.has(action.object))
      return false;
  for (const action of actions) await act(home, observation, action);
  return true;
}
