import type { AuthorityId } from '@handover/engine';
import { type Instant, isMap } from '@handover/material';
import type { Source } from '../objects/fresh.ts';
import { idOfPlace, type Place, type Plural, placeKey, placesOf } from '../objects/place.ts';
import type { Declared } from '../resources/declared.ts';
import { passwordSecrets } from '../resources/password-secrets.ts';
import {
  type ResolvedResources,
  type ResolveOptions,
  resolveResources,
} from '../resources/resolved-resources.ts';
import type { ResourceOptions, Scope } from './options.ts';

/** Follows single objects, and passwords; only the objects are waited for. */
type Follow = (places: readonly Place[], passwords: readonly Place[]) => Promise<void>;

/** The resources, resolved to what they ask for; and what they say about single objects. */
export class Resolver {
  readonly #options: ResourceOptions;
  readonly #scope: Scope;
  readonly #source: Source;
  readonly #follow: Follow;
  #last: ResolvedResources | undefined;
  #reading: Promise<ResolvedResources> | undefined;
  /** The newest reading; `forget` leaves it: a pass under way goes on asking about what it began with. */
  #known: { readonly turn: number; readonly resolved: ResolvedResources } | undefined;
  #turns = 0;

  constructor(options: ResourceOptions, scope: Scope, source: Source, follow: Follow) {
    this.#options = options;
    this.#scope = scope;
    this.#source = source;
    this.#follow = follow;
  }

  /** As they were resolved last; undefined: not yet. */
  get last(): ResolvedResources | undefined {
    return this.#known?.resolved;
  }

  async #remembering(reading: Promise<ResolvedResources>): Promise<ResolvedResources> {
    const turn = ++this.#turns;
    const resolved = await reading;
    if (turn > (this.#known?.turn ?? 0)) this.#known = { turn, resolved };
    return resolved;
  }

  /** As the caches have them; reads them again after `forget`. */
  async resolved(): Promise<ResolvedResources> {
    if (this.#last !== undefined) return this.#last;
    if (this.#reading !== undefined) return this.#reading;
    const reading = this.#remembering(this.#resolveNow());
    this.#reading = reading;
    try {
      const resolved = await reading;
      // What was read before a `forget` must not outlive it.
      if (this.#reading === reading) this.#last = resolved;
      return resolved;
    } finally {
      if (this.#reading === reading) this.#reading = undefined;
    }
  }

  forget(): void {
    this.#last = undefined;
    this.#reading = undefined;
  }

  /** As the API server has them now. */
  async fresh(): Promise<ResolvedResources> {
    const { declarations } = this.#options;
    const [labels, declared] = await Promise.all([declarations.freshNamespaces(), declarations.fresh()]);
    return this.#remembering(this.#resolve(declared, labels, this.#options.selected?.fresh));
  }

  async #resolveNow(): Promise<ResolvedResources> {
    const { declarations } = this.#options;
    // Single objects have to be followed before they can be found.
    const first = await this.#resolve(declarations.all(), declarations.namespaces());
    const passwords = passwordSecrets(first.catalogue).map(({ place }) => place);
    await this.#follow(this.#placesIn(first), passwords);
    return this.#resolve(declarations.all(), declarations.namespaces());
  }

  #resolve(
    declared: readonly Declared[],
    namespaces: ResolveOptions['namespaces'],
    select = this.#options.selected?.followed,
  ): Promise<ResolvedResources> {
    const { clusterTrustBundles, injectionOf, takeOver, more } = this.#options;
    return resolveResources(declared, {
      source: this.#source,
      namespaces,
      trustNamespace: this.#scope.trustNamespace,
      clusterTrustBundles,
      injectionOf,
      takeOver,
      more,
      select,
    });
  }

  /** Objects that are followed one by one: sources in other hands, and those of kinds that are not watched whole. */
  get places(): readonly Place[] {
    return this.last === undefined ? [] : this.#placesIn(this.last);
  }

  #placesIn({ sources, declared }: ResolvedResources): readonly Place[] {
    const places = new Map(sources.map((place) => [placeKey(place), place]));
    for (const { resource } of declared)
      for (const place of resource === undefined ? [] : placesOf(resource))
        if (!this.#scope.wide.includes(place.plural) && this.#isServed(place))
          places.set(placeKey(place), place);
    return [...places.values()];
  }

  /** To follow an object of a kind that is not there would be to wait for ever. */
  #isServed({ plural }: Place): boolean {
    return plural !== 'clustertrustbundles' || this.#options.clusterTrustBundles();
  }

  known(plural: Plural): readonly Place[] {
    return this.places.filter((place) => place.plural === plural);
  }

  /** Whether a Secret is one whose CA an Authority is to take over. */
  isAdopted(place: Place): boolean {
    return this.last?.adopted.has(idOfPlace(place)) === true;
  }

  /** Whether an object without our label is a source, or to be taken over. */
  isWanted(place: Place): boolean {
    return (
      this.isAdopted(place) ||
      this.last?.adoptable.has(idOfPlace(place)) === true ||
      this.last?.sources.some((source) => placeKey(source) === placeKey(place)) === true
    );
  }

  /** A resource with its status as it was seen last: what it resolves to does not change with that. */
  declared(kind: string, id: string): Declared | undefined {
    return this.#options.declarations
      .all()
      .find((declared) => declared.kind === kind && `${declared.namespace}/${declared.name}` === id);
  }

  askedAt(leaf: string): Instant | undefined {
    const found = this.last?.declared.find(
      ({ kind, namespace, name }) => kind === 'Leaf' && `${namespace}/${name}` === leaf,
    );
    return found === undefined || found.createdAt === 0 ? undefined : found.createdAt;
  }

  /** Undefined: a file or a program declares the Authority, so that it has no UID of an API server. */
  uidOf(authority: AuthorityId): string | undefined {
    const found = this.declared('Authority', authority);
    return found === undefined || found.version === '' ? undefined : found.uid;
  }

  /** Hash that the status of a TLSProfile says was written. */
  writtenHash(profile: string): string | undefined {
    const { status } = this.declared('TLSProfile', profile) ?? {};
    return isMap(status) && typeof status.hash === 'string' ? status.hash : undefined;
  }
}
