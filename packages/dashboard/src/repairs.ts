import type { Action } from '@handover/core';
import { digestOf, type Observation } from '@handover/engine';

export interface Repair {
  readonly object: string;
  readonly what: 'changed' | 'deleted';
}

/** Objects that another program changed or deleted, and that these actions restore. */
export const repairsIn = (
  actions: readonly Action[],
  { stored }: Pick<Observation, 'stored'>,
  known: ReadonlySet<string>,
): readonly Repair[] =>
  actions.flatMap((action): readonly Repair[] => {
    if (action.kind !== 'write-bundle' && action.kind !== 'write-leaf') return [];
    const found = stored.get(action.object);
    if (found === undefined)
      return known.has(action.object) ? [{ object: action.object, what: 'deleted' }] : [];
    const { record } = found;
    // Without an authentic record another program wrote it.
    const changed = record === undefined ? known.has(action.object) : record.digest !== digestOf(found.data);
    return changed ? [{ object: action.object, what: 'changed' }] : [];
  });
