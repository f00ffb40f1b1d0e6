import { MANAGED_LABEL } from '@handover/core';
import type { Kube } from '@handover/kube';
import { type Held, heldOf } from './held.ts';
import { isLabelled, type Kinds } from './kinds.ts';
import { keyOf, type Place, type Plural } from './place.ts';
import { Room } from './room.ts';

/** Where API objects are read from. */
export interface Source {
  held(place: Place): Promise<Held | undefined>;
  /** Everything of one kind that could be ours. */
  all(plural: Plural): Promise<readonly Held[]>;
}

export interface FreshOptions {
  readonly kube: Kube;
  readonly kinds: Kinds;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

/** Asks the API server about each object, one by one: for an account that may see only those it can name. */
export class OneByOne implements Source {
  readonly #options: FreshOptions;
  readonly #known: (plural: Plural) => readonly Place[];

  constructor(options: FreshOptions, known: (plural: Plural) => readonly Place[]) {
    this.#options = options;
    this.#known = known;
  }

  async held({ plural, namespace, name }: Place): Promise<Held | undefined> {
    const { kube, kinds, signal } = this.#options;
    const found = await kube.get(
      kinds[plural],
      { name, ...(namespace === undefined ? {} : { namespace }) },
      { signal },
    );
    return found === undefined ? undefined : heldOf(plural, found);
  }

  async all(plural: Plural): Promise<readonly Held[]> {
    const found = await Promise.all(this.#known(plural).map((place) => this.held(place)));
    return found.filter((held) => held !== undefined);
  }
}

/**
 * What the API server says now, for the length of one look: each kind is listed once, when it is first asked for. An object
 * that is not among the labelled ones is asked for by name only where there is reason to: that something is in the way of a
 * creation is said by the creation itself.
 */
export class FreshSource implements Source {
  readonly #options: FreshOptions;
  readonly #byName: OneByOne;
  readonly #mayBeThere: (place: Place) => boolean;
  readonly #lists = new Map<Plural, Promise<ReadonlyMap<string, Held>>>();

  constructor(options: FreshOptions, mayBeThere: (place: Place) => boolean) {
    this.#options = options;
    this.#mayBeThere = mayBeThere;
    this.#byName = new OneByOne(options, () => []);
  }

  async held(place: Place): Promise<Held | undefined> {
    const found = (await this.#list(place.plural)).get(keyOf(place));
    return (
      found ?? (isLabelled(place.plural) && this.#mayBeThere(place) ? this.#byName.held(place) : undefined)
    );
  }

  async all(plural: Plural): Promise<readonly Held[]> {
    return [...(await this.#list(plural)).values()];
  }

  #list(plural: Plural): Promise<ReadonlyMap<string, Held>> {
    const before = this.#lists.get(plural);
    if (before !== undefined) return before;
    const listed = this.#listNow(plural);
    this.#lists.set(plural, listed);
    return listed;
  }

  async #listNow(plural: Plural): Promise<ReadonlyMap<string, Held>> {
    const { kube, kinds, namespaces, signal } = this.#options;
    const found = new Map<string, Held>();
    const room = new Room();
    const labelSelector = isLabelled(plural) ? { labelSelector: `${MANAGED_LABEL}=true` } : {};
    // Pages: a list of CRDs is mostly schemas, which go as soon as they have come.
    const limit = plural === 'customresourcedefinitions' ? { limit: 50 } : {};
    for (const scope of isLabelled(plural) && namespaces !== undefined
      ? namespaces.map((namespace) => ({ namespace }))
      : [{}]) {
      for await (const page of kube.pages(
        kinds[plural],
        { ...scope, ...labelSelector, ...limit },
        { signal },
      )) {
        for (const object of page.items) {
          const held = room.fit(heldOf(plural, object));
          found.set(keyOf(held), held);
        }
      }
    }
    return found;
  }
}
