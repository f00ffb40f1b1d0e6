import { isServedWrong, type Serving, servings } from '@handover/core';
import type { Observation } from './observe.ts';

/** What one process serves, and whether that is wrong. */
export interface JudgedServing extends Serving {
  readonly wrong: boolean;
}

/** What each consumer serves now, the worst first. */
export const servingsIn = ({
  seen,
  responsibilities,
  now,
}: Observation): ReadonlyMap<string, readonly JudgedServing[]> => {
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const { reloadWithin } = responsibilities.policy;
  return new Map(
    [...servings(seen, now)].map(([consumer, all]) => [
      consumer,
      all
        .map((one) => ({ ...one, wrong: isServedWrong(one, objects, reloadWithin) }))
        .sort((a, b) => Number(b.wrong) - Number(a.wrong)),
    ]),
  );
};
