import { isStatic, type Key, keyText, type ObjectId, type Observation, targetsOf } from '@handover/engine';
import { type Plural, placeKey, placeOf } from '../objects/place.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';

/** As things were when there was last nothing to do. */
interface Rest {
  readonly resolved: ResolvedResources;
  readonly objects: ReadonlyMap<string, readonly ObjectId[]>;
  /** Undefined: no authority stands behind the bundle. */
  readonly observation: Observation | undefined;
}

const byPlace = (ids: Iterable<ObjectId>): ReadonlyMap<string, readonly ObjectId[]> => {
  const found = new Map<string, ObjectId[]>();
  for (const id of ids) {
    const place = placeOf(id);
    const key = placeKey(place);
    found.set(key, [...(found.get(key) ?? []), id]);
  }
  return found;
};

/**
 * Bundles that were changed from outside under a resource at rest. Each can be put right by itself: what one drift costs does not
 * grow with the number of bundles.
 */
export class Drifts {
  readonly #rests = new Map<string, Rest>();
  readonly #drifted = new Map<string, Set<ObjectId>>();

  /** An authority had nothing to do. */
  markStable(id: string, resolved: ResolvedResources, observation: Observation): void {
    const work = keyText({ kind: 'Authority', id });
    const before = this.#rests.get(work);
    const objects =
      before?.resolved === resolved ? before.objects : byPlace(observation.responsibilities.bundles.keys());
    this.#rests.set(work, { resolved, objects, observation });
  }

  /** A bundle from a source in other hands had nothing to do. */
  markBundleStable(id: string, resolved: ResolvedResources): void {
    const work = keyText({ kind: 'TrustBundle', id });
    if (this.#rests.get(work)?.resolved === resolved) return;
    const bundle = resolved.catalogue.trustBundles.find(({ metadata }) => metadata.name === id);
    if (bundle === undefined || !isStatic(bundle)) return;
    const objects = byPlace(targetsOf(bundle, resolved.catalogue));
    this.#rests.set(work, { resolved, objects, observation: undefined });
  }

  /** Other resources were read, which affect only `isAffected`: unaffected authorities keep their cached state. */
  resourcesRead(before: ResolvedResources, now: ResolvedResources, isAffected: (key: Key) => boolean): void {
    for (const [work, rest] of this.#rests) {
      const id = rest.observation?.responsibilities.id;
      if (id !== undefined && rest.resolved === before && !isAffected({ kind: 'Authority', id }))
        this.#rests.set(work, { ...rest, resolved: now });
    }
  }

  markMoving(id: string): void {
    this.#rests.delete(keyText({ kind: 'Authority', id }));
  }

  /** The work that a change under `key` calls for: the object alone, or everything. */
  note(key: Key, plural: Plural, changed: string): Key {
    if (key.kind !== 'Authority' && key.kind !== 'TrustBundle') return key;
    const work = keyText(key);
    const objects = this.#rests.get(work)?.objects.get(`${plural} ${changed}`);
    if (objects === undefined) return key;
    const known = this.#drifted.get(work) ?? new Set();
    for (const id of objects) known.add(id);
    this.#drifted.set(work, known);
    return { kind: 'Drift', of: key };
  }

  /** What has drifted since the last call, if the resources are still the same. */
  take(
    key: Key,
    resolved: ResolvedResources,
  ): { readonly objects: readonly ObjectId[]; readonly observation: Observation | undefined } | undefined {
    const work = keyText(key);
    const objects = [...(this.#drifted.get(work) ?? [])];
    this.#drifted.delete(work);
    const rest = this.#rests.get(work);
    return rest?.resolved === resolved ? { objects, observation: rest.observation } : undefined;
  }
}
