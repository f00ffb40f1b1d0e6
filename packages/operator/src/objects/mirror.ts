import { MANAGED_LABEL } from '@handover/core';
import type { Kube, KubeObject } from '@handover/kube';
import type { Budget } from '../cache/budget.ts';
import { Watched } from '../cache/watched.ts';
import type { Source } from './fresh.ts';
import { isLabelled, type Kinds } from './kinds.ts';
import { keyOf, type Place, type Plural, placeKey } from './place.ts';
import { OBJECTS, type ObjectProjection } from './projection.ts';

export interface MirrorOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  readonly kinds: Kinds;
  /** Kinds that are watched whole (labelled ones as far as they carry our label); others only object by object. */
  readonly wide: readonly Plural[];
  /** Namespaces to watch; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  readonly onChange: (
    plural: Plural,
    key: string,
    before: ObjectProjection | undefined,
    after: ObjectProjection | undefined,
  ) => void;
  readonly onTrouble?: ((what: string, error: Error, plural: Plural) => void) | undefined;
  /** Whether the API server has a kind now; one that it has not is not watched. Default: it has all. */
  readonly isServed?: ((plural: Plural) => boolean) | undefined;
}

/**
 * A field is put right within a moment of an event, and within 42 s when events have silently stopped coming: the API server ends
 * each of these watches after 33 s at most, so that one which has said nothing for longer is dead.
 */
const SHORT_WATCH = { lifetime: 25, silence: 42_000 };

/**
 * What the API server holds, followed by watches: whole kinds where we may see them, and single objects by name: sources in
 * other hands, or all there is for an account whose rights end at names.
 */
export class Mirror implements Source {
  readonly #options: MirrorOptions;
  readonly #wide = new Map<
    Plural,
    { readonly informers: readonly Watched<KubeObject, ObjectProjection>[]; readonly stop: AbortController }
  >();
  readonly #single = new Map<
    string,
    { readonly informer: Watched<KubeObject, ObjectProjection>; readonly stop: AbortController }
  >();
  #signal: AbortSignal | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /** Begins to watch, until `signal`. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const plural of this.#options.wide) this.#watchAll(plural, signal);
  }

  #watchAll(plural: Plural, signal: AbortSignal): void {
    const { namespaces, isServed = () => true } = this.#options;
    if (!isServed(plural)) return;
    const stop = new AbortController();
    const until = AbortSignal.any([signal, stop.signal]);
    const scopes = isLabelled(plural) && namespaces !== undefined ? namespaces : [undefined];
    const informers = scopes.map((namespace) => this.#watch(plural, namespace, undefined, until));
    this.#wide.set(plural, { informers, stop });
  }

  /** The API server serves a kind in another version, or no longer, or now: its watch starts again. Single objects are by `follow`. */
  async again(plural: Plural): Promise<void> {
    this.#wide.get(plural)?.stop.abort();
    this.#wide.delete(plural);
    for (const [key, { stop }] of this.#single) {
      if (!key.startsWith(`${plural} `)) continue;
      stop.abort();
      this.#single.delete(key);
    }
    if (this.#signal === undefined || !this.#options.wide.includes(plural)) return;
    this.#watchAll(plural, this.#signal);
    await Promise.all((this.#wide.get(plural)?.informers ?? []).map(({ ready }) => ready));
  }

  #watch(
    plural: Plural,
    namespace: string | undefined,
    name: string | undefined,
    signal: AbortSignal,
    part = '',
  ): Watched<KubeObject, ObjectProjection> {
    const { kube, budget, kinds, onChange, onTrouble } = this.#options;
    const informer = new Watched<KubeObject, ObjectProjection>(kube, kinds[plural], {
      projection: OBJECTS[plural],
      part: name === undefined ? '' : part,
      budget,
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
      ...(name === undefined && isLabelled(plural) ? { labelSelector: `${MANAGED_LABEL}=true` } : {}),
      ...(isLabelled(plural) ? {} : SHORT_WATCH),
    });
    informer.on('changed', ({ key, before, after }) => {
      const isOther = before?.version !== after?.version || before?.overBudget !== after?.overBudget;
      if (isOther) onChange(plural, key, before, after);
    });
    const what = `watch of ${plural}${name === undefined ? '' : ` ${keyOf({ namespace, name })}`}`;
    informer.on('trouble', (error) => onTrouble?.(what, error, plural));
    informer.start(signal);
    return informer;
  }

  /** Follows single objects from now on: exactly these, beside the kinds that are watched whole. */
  async follow(places: readonly Place[]): Promise<void> {
    const signal = this.#signal;
    if (signal === undefined) throw new TypeError('a mirror follows nothing before it is started');
    const wanted = new Map(places.map((place) => [placeKey(place), place]));
    for (const [key, { stop }] of this.#single) {
      if (wanted.has(key)) continue;
      stop.abort();
      this.#single.delete(key);
    }
    const started: Promise<unknown>[] = [];
    for (const [key, { plural, namespace, name, part }] of wanted) {
      if (this.#single.has(key)) continue;
      const stop = new AbortController();
      const informer = this.#watch(plural, namespace, name, AbortSignal.any([signal, stop.signal]), part);
      this.#single.set(key, { informer, stop });
      started.push(informer.ready);
    }
    await Promise.all(started);
  }

  get ready(): Promise<unknown> {
    return Promise.all([...this.#informers()].map(({ ready }) => ready));
  }

  get synced(): boolean {
    return [...this.#informers()].every(({ synced }) => synced);
  }

  *#informers(): Iterable<Watched<KubeObject, ObjectProjection>> {
    for (const { informers } of this.#wide.values()) yield* informers;
    for (const { informer } of this.#single.values()) yield informer;
  }

  async held(place: Place): Promise<ObjectProjection | undefined> {
    return this.get(place);
  }

  get(place: Place): ObjectProjection | undefined {
    const key = keyOf(place);
    for (const informer of this.#wide.get(place.plural)?.informers ?? []) {
      const found = informer.get(key);
      if (found !== undefined) return found;
    }
    return this.#single.get(`${place.plural} ${key}`)?.informer.get(key);
  }

  async all(plural: Plural): Promise<readonly ObjectProjection[]> {
    const wide = this.#wide.get(plural);
    if (wide !== undefined) return wide.informers.flatMap((informer) => informer.list());
    return [...this.#single]
      .filter(([key]) => key.startsWith(`${plural} `))
      .flatMap(([, { informer }]) => informer.list());
  }
}
