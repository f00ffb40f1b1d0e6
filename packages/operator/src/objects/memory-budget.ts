import { MANAGED_LABEL } from '@handover/core';
import { recordOf } from '@handover/material';
import { keyOf, type Plural, placeKey } from './place.ts';
import type { ObjectProjection } from './projection.ts';

/** What an object may hold whatever else there is: a Leaf's Secret, or a bundle of a few CAs, is smaller. */
const BY_RIGHT = 16_384;
/** What all larger ones of a namespace may hold together: forty bundles of every public CA. */
const MOST = 8 * 1_024 * 1_024;

export const OVER_BUDGET = `the objects of its namespace that are labelled ${MANAGED_LABEL} hold more than 8 MiB; remove those that are not needed, then change an annotation of this one`;

const lengthOf = ({ entries, data }: ObjectProjection): number =>
  Object.entries(data).reduce(
    (sum, [name, bytes]) => sum + name.length + bytes.length,
    JSON.stringify(entries).length,
  );

/**
 * Room in memory for what carries our label, for each namespace apart: an account that may write in one can label any
 * object there, and must not use up what the others need.
 */
export class MemoryBudget {
  readonly #taken = new Map<string, Map<string, number>>();

  /** The object as it can be kept: without its data where there is no room for it. */
  charge(held: ObjectProjection): ObjectProjection {
    if (held.namespace === undefined) return held;
    this.release(held.plural, keyOf(held));
    const length = lengthOf(held);
    if (length <= BY_RIGHT) return held;
    const others = this.#taken.get(held.namespace) ?? new Map<string, number>();
    if ([...others.values()].reduce((sum, one) => sum + one, length) > MOST)
      return { ...held, data: recordOf([]), entries: recordOf([]), overBudget: true };
    this.#taken.set(held.namespace, others.set(placeKey(held), length));
    return held;
  }

  release(plural: Plural, key: string): void {
    const [namespace = ''] = key.split('/');
    this.#taken.get(namespace)?.delete(`${plural} ${key}`);
  }
}
