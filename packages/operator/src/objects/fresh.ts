import { MANAGED_LABEL } from '@handover/core';
import { inParallel } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { Budget } from '../cache/budget.ts';
import { listed } from '../cache/watched.ts';
import { isLabelled, type Kinds } from './kinds.ts';
import { keyOf, type Place, type Plural, whichOf } from './place.ts';
import { OBJECTS, type ObjectProjection, projectObject } from './projection.ts';

/**
 * What the caches have, and what they do not follow and a pass may need once: that pass asks for it and waits for the answer, and
 * no other does.
 */
export const askingSource = (cache: Source, server: Source, isAsked: (place: Place) => boolean): Source => ({
  held: async (place) => (await cache.held(place)) ?? (isAsked(place) ? server.held(place) : undefined),
  all: (plural) => cache.all(plural),
});

/** Where API objects are read from. */
export interface Source {
  held(place: Place): Promise<ObjectProjection | undefined>;
  /** Everything of one kind that could be ours. */
  all(plural: Plural): Promise<readonly ObjectProjection[]>;
}

interface FreshOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  readonly kinds: Kinds;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  /** What a watch has of it: an object that is still of that version need not be read. */
  readonly cached?: ((place: Place) => ObjectProjection | undefined) | undefined;
}

/** With more than these to read, whole pages are read instead. */
const MOST_CHANGED = 20;
const AT_ONCE = 10;

/** Asks the API server about each object, one by one: for an account that may see only those it can name. */
export class GetByName implements Source {
  readonly #options: FreshOptions;
  readonly #known: (plural: Plural) => readonly Place[];

  constructor(options: FreshOptions, known: (plural: Plural) => readonly Place[]) {
    this.#options = options;
    this.#known = known;
  }

  async held(place: Place): Promise<ObjectProjection | undefined> {
    const { kube, kinds, signal } = this.#options;
    const found = await kube.get(kinds[place.plural], whichOf(place), { signal });
    return found === undefined ? undefined : projectObject(place.plural, found);
  }

  async all(plural: Plural): Promise<readonly ObjectProjection[]> {
    const found = await Promise.all(this.#known(plural).map((place) => this.held(place)));
    return found.filter((held) => held !== undefined);
  }
}

/**
 * What the API server says now, for the length of one snapshot: each kind is listed once, when it is first asked for. An object
 * that is not among the labelled ones is asked for by name only where there is reason to: that something is in the way of a
 * creation is said by the creation itself.
 */
export class FreshSource implements Source {
  readonly #options: FreshOptions;
  readonly #byName: GetByName;
  readonly #mayBeThere: (place: Place) => boolean;
  readonly #lists = new Map<Plural, Promise<ReadonlyMap<string, ObjectProjection>>>();

  constructor(options: FreshOptions, mayBeThere: (place: Place) => boolean) {
    this.#options = options;
    this.#mayBeThere = mayBeThere;
    this.#byName = new GetByName(options, () => []);
  }

  async held(place: Place): Promise<ObjectProjection | undefined> {
    const found = (await this.#list(place.plural)).get(keyOf(place));
    return (
      found ?? (isLabelled(place.plural) && this.#mayBeThere(place) ? this.#byName.held(place) : undefined)
    );
  }

  async all(plural: Plural): Promise<readonly ObjectProjection[]> {
    return [...(await this.#list(plural)).values()];
  }

  #list(plural: Plural): Promise<ReadonlyMap<string, ObjectProjection>> {
    const before = this.#lists.get(plural);
    if (before !== undefined) return before;
    const listed = this.#listNow(plural);
    this.#lists.set(plural, listed);
    return listed;
  }

  /** Names and versions first: `found` gets what the watches have in the same version. Returns the others. */
  async #changed(
    plural: Plural,
    which: { readonly namespace?: string; readonly labelSelector?: string },
    found: Map<string, ObjectProjection>,
  ): Promise<readonly Place[]> {
    const { kube, kinds, signal, cached = () => undefined } = this.#options;
    const changed: Place[] = [];
    for await (const { items } of kube.pages(kinds[plural], { ...which, metadataOnly: true }, { signal }))
      for (const { metadata } of items) {
        const { namespace, name = '', resourceVersion } = metadata;
        const place = { plural, namespace, name, part: '' };
        const held = cached(place);
        if (held !== undefined && held.version === resourceVersion) found.set(keyOf(place), held);
        else changed.push(place);
      }
    return changed;
  }

  async #listNow(plural: Plural): Promise<ReadonlyMap<string, ObjectProjection>> {
    const { kube, kinds, namespaces, signal } = this.#options;
    const found = new Map<string, ObjectProjection>();
    const budget = this.#options.budget?.another() ?? new Budget();
    const labelSelector = isLabelled(plural) ? { labelSelector: `${MANAGED_LABEL}=true` } : {};
    for (const scope of isLabelled(plural) && namespaces !== undefined
      ? namespaces.map((namespace) => ({ namespace }))
      : [{}]) {
      const which = { ...scope, ...labelSelector };
      const changed = await this.#changed(plural, which, found);
      if (changed.length > MOST_CHANGED) {
        const { kept } = await listed(
          kube,
          kinds[plural],
          { ...which, projection: OBJECTS[plural], budget },
          signal,
        );
        // A version that the page shows is newer, or the same.
        for (const held of kept) found.set(keyOf(held), held);
      } else
        await inParallel(changed, AT_ONCE, async (place) => {
          const held = await this.#byName.held(place);
          if (held?.labelled === true) found.set(keyOf(held), held);
        });
    }
    return found;
  }
}
