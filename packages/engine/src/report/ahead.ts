import type { Blocker, Plan } from '@handover/core';
import type { Observation } from '../observe/observe.ts';

/** Waits of a state that is older than the objects made from it. Only a person can end them: nothing is written on top of a newer object. */
export const aheadIn = ({ blockedBy }: Plan, { record, seen }: Observation): readonly Blocker[] => {
  if (record === undefined) return [];
  const ahead = new Set(
    seen.objects.filter(({ revision = 0 }) => revision > record.state.revision).map(({ id }) => id),
  );
  return blockedBy.filter(({ consumer }) => ahead.has(consumer));
};
