import type { ObjectSeen } from '@handover/core';
import type { AuthorityOutcome, Observation } from '@handover/engine';

/**
 * What was seen, with the reasons for which writes of this very pass did not land: it was seen before they were tried. Otherwise the
 * reason would be out of the status after each try, until the next look. `others`: the reasons that are about no object.
 */
export const afterTrying = (
  { observation, refused }: Pick<AuthorityOutcome, 'observation' | 'refused'>,
  known: (object: string) => string | undefined,
): { readonly observation: Observation; readonly others: readonly string[] } => {
  if (refused.length === 0) return { observation, others: [] };
  const { responsibilities, seen, now } = observation;
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const others: string[] = [];
  for (const { object: id, why, raced } of refused) {
    if (raced) continue;
    const asked = responsibilities.leaves.has(id) || responsibilities.bundles.has(id);
    const absent: ObjectSeen | undefined = asked
      ? {
          id,
          version: '',
          revision: undefined,
          anchors: [],
          changedAt: now,
          leaf: undefined,
          elsewhere: true,
        }
      : undefined;
    const object = objects.get(id) ?? absent;
    if (object === undefined) others.push(why);
    else objects.set(id, { ...object, obstacle: known(id) ?? `it could not be written: ${why}` });
  }
  return { observation: { ...observation, seen: { ...seen, objects: [...objects.values()] } }, others };
};
