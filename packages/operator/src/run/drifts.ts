import { isStatic, type ObjectId, type Observation, targetsOf } from '@handover/engine';
import { keyOf, placeOf } from '../objects/place.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';

/** As things were when there was last nothing to do. */
interface Rest {
  readonly resolved: ResolvedResources;
  readonly objects: ReadonlyMap<string, readonly ObjectId[]>;
  /** Undefined for what has no authority. */
  readonly observation: Observation | undefined;
}

const byPlace = (ids: Iterable<ObjectId>): ReadonlyMap<string, readonly ObjectId[]> => {
  const found = new Map<string, ObjectId[]>();
  for (const id of ids) {
    const place = placeOf(id);
    const key = `${place.plural} ${keyOf(place)}`;
    found.set(key, [...(found.get(key) ?? []), id]);
  }
  return found;
};

/**
 * Bundles that somebody changed under work that was at rest. Each can be put right by itself: what one drift costs does not grow
 * with the number of bundles.
 */
export class Drifts {
  readonly #rests = new Map<string, Rest>();
  readonly #drifted = new Map<string, Set<ObjectId>>();

  /** An authority had nothing to do. */
  authorityRests(work: string, resolved: ResolvedResources, observation: Observation): void {
    const before = this.#rests.get(work);
    const objects =
      before?.resolved === resolved ? before.objects : byPlace(observation.responsibilities.bundles.keys());
    this.#rests.set(work, { resolved, objects, observation });
  }

  /** A bundle in other hands had nothing to do. */
  bundleRests(work: string, resolved: ResolvedResources, name: string): void {
    if (this.#rests.get(work)?.resolved === resolved) return;
    const bundle = resolved.catalogue.trustBundles.find(({ metadata }) => metadata.name === name);
    if (bundle === undefined || !isStatic(bundle)) return;
    const objects = byPlace(targetsOf(bundle, resolved.catalogue));
    this.#rests.set(work, { resolved, objects, observation: undefined });
  }

  moves(work: string): void {
    this.#rests.delete(work);
  }

  /** Notes a change; false: it has to be looked at with everything around it. */
  note(work: string, plural: string, key: string): boolean {
    const objects = this.#rests.get(work)?.objects.get(`${plural} ${key}`);
    if (objects === undefined) return false;
    const known = this.#drifted.get(work) ?? new Set();
    for (const id of objects) known.add(id);
    this.#drifted.set(work, known);
    return true;
  }

  /** What has drifted since the last call, if `register` still holds. */
  take(
    work: string,
    resolved: ResolvedResources,
  ): { readonly objects: readonly ObjectId[]; readonly observation: Observation | undefined } | undefined {
    const objects = [...(this.#drifted.get(work) ?? [])];
    this.#drifted.delete(work);
    const rest = this.#rests.get(work);
    return rest?.resolved === resolved ? { objects, observation: rest.observation } : undefined;
  }
}
