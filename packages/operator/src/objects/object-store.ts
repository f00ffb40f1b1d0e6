import { MANAGED_LABEL } from '@handover/core';
import {
  type AuthorityId,
  Contention,
  type Contents,
  digestOf,
  type ObjectId,
  type ObjectReader,
  type ObjectRecord,
  type ObjectWriter,
  type StoredObject,
} from '@handover/engine';
import type { Kube, KubeObject } from '@handover/kube';
import { HandoverError, type Instant, isMap } from '@handover/material';
import { OperatorError } from '../error.ts';
import type { Source } from './fresh.ts';
import { type Held, heldOf } from './held.ts';
import type { Kinds } from './kinds.ts';
import { Obstacles } from './obstacles.ts';
import type { OwnWritesCache } from './own-writes-cache.ts';
import { SHAPES, type Texts } from './parts.ts';
import { idOfPlace, isField, type Place, placeOf } from './place.ts';
import { type Entries, FIELD_MANAGER, formatEntries, RECORD } from './record.ts';
import { CROWDED } from './room.ts';

export interface ObjectStoreOptions {
  /** Writes go through these clients alone, which know whether we still lead; the second is for API fields. */
  readonly kube: Kube;
  readonly swift: Kube;
  readonly kinds: Kinds;
  /** Where authorities lie. */
  readonly namespace: string;
  readonly cache: OwnWritesCache;
  readonly now: () => Instant;
  readonly signal: AbortSignal;
  /** Whether somebody said that an object which is not ours may become ours. */
  readonly mayAdopt: (id: ObjectId) => boolean;
  readonly signerOf: (id: ObjectId) => string | undefined;
  /** Annotations that an object carries beside our own. */
  readonly annotationsOf?:
    | ((id: ObjectId, record: ObjectRecord) => Readonly<Record<string, string>> | undefined)
    | undefined;
  /** Whether an object is to hold nothing but what we put there, and is never made by us. */
  readonly isWhole?: ((id: ObjectId) => boolean) | undefined;
  /** Somebody else had changed it, and it is being put right. */
  readonly onRepair?: (id: ObjectId, manager: string) => void;
  readonly onWritten?: (place: Place, digest: string) => void;
}

/** The derived objects on an API server: how they are written, and why some cannot be. */
export class ObjectStore {
  readonly #options: ObjectStoreOptions;
  readonly obstacles = new Obstacles();
  readonly contention = new Contention();
  readonly #read = new WeakMap<Held, Map<string, Texts | undefined>>();
  /** The same answer for the same object, by which the engine knows that it has seen it before. */
  readonly #known = new WeakMap<
    Held,
    Map<ObjectId, { readonly intact: boolean; readonly stored: StoredObject }>
  >();

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
  }

  /** What a source shows, as the engine's ports want it. */
  view(source: Source): ObjectReader & ObjectWriter {
    return {
      read: async (id) => {
        const held = await source.held(placeOf(id));
        return held === undefined ? undefined : this.#stored(id, held);
      },
      whyAbsent: (id) => this.obstacles.why(id, this.#options.now()),
      issuedBy: async (authority, known) => issuedBy(await source.all('secrets'), authority, known),
      write: (id, expect, make) => this.write(id, expect, make),
    };
  }

  #stored(id: ObjectId, held: Held): StoredObject {
    const place = placeOf(id);
    const { part } = place;
    const entry = held.entries[part];
    const data = this.#data(held, part);
    const obstacle = this.#obstacle(id, held, data);
    // Without its label nobody would watch it: as good as changed.
    const watched = held.labelled || isField(place) || held.plural === 'clustertrustbundles';
    const intact =
      watched && this.#annotated(id, held, entry?.record) && this.#strangers(id, held).length === 0;
    const known = this.#known.get(held)?.get(id);
    if (known?.intact === intact && known.stored.obstacle === obstacle) return known.stored;
    const stored = {
      version: held.version,
      data: data ?? {},
      record: entry === undefined ? undefined : intact ? entry.record : { ...entry.record, digest: '' },
      ...(entry?.sealed === undefined ? {} : { claim: entry.sealed.claim }),
      ...(obstacle === undefined ? {} : { obstacle }),
    };
    this.#known.set(held, (this.#known.get(held) ?? new Map()).set(id, { intact, stored }));
    return stored;
  }

  /** The same texts for the same object, so that what is known about them need not be found out again. */
  #data(held: Held, part: string): Texts | undefined {
    const parts = this.#read.get(held) ?? new Map<string, Texts | undefined>();
    this.#read.set(held, parts);
    if (!parts.has(part)) parts.set(part, SHAPES[held.plural].read(held.texts, part));
    return parts.get(part);
  }

  #annotated(id: ObjectId, held: Held, record: ObjectRecord | undefined): boolean {
    const wanted = record === undefined ? undefined : this.#options.annotationsOf?.(id, record);
    return Object.entries(wanted ?? {}).every(([name, value]) => held.annotations[name] === value);
  }

  /** Keys of others in an object that is to hold ours alone. */
  #strangers(id: ObjectId, held: Held): readonly string[] {
    if (isField(placeOf(id)) || this.#options.isWhole?.(id) !== true) return [];
    const ours = new Set(SHAPES[held.plural].covers(held.texts, placeOf(id).part));
    return Object.keys(held.texts).filter((name) => !ours.has(name));
  }

  #obstacle(id: ObjectId, held: Held, data: Texts | undefined): string | undefined {
    const { now, mayAdopt } = this.#options;
    const place = placeOf(id);
    if (data === undefined)
      return `it has no webhook ${place.part.replaceAll(',', ', ')}; name one that it has`;
    const { keptIn = this.#options.namespace } = held;
    if (keptIn !== this.#options.namespace && !mayAdopt(id))
      return `it is kept by the operator of namespace ${keptIn}; stop that one, or set handover.dev/adopt: "true" on the resource that asks for this object`;
    if (held.crowded === true) return CROWDED;
    if (held.immutable) return 'it is immutable; delete it, and it is made anew';
    const met = this.obstacles.why(id, now());
    if (met !== undefined) return met;
    const fight = this.contention.standoff(id, now());
    // Whoever leaves our last write alone does not fight.
    if (fight !== undefined && held.entries[place.part]?.record.digest !== digestOf(data)) {
      return `Contended: ${fight.manager} keeps changing it back; stop one of the two (next try at ${iso(fight.until)})`;
    }
    const foreign = held.entries[place.part] === undefined && Object.keys(data).length > 0 && !isField(place);
    if (!foreign || mayAdopt(id) || this.#options.isWhole?.(id) === true) return undefined;
    return `it exists and is kept by ${held.owner ?? 'somebody else'}; choose another name, remove it, or set handover.dev/adopt: "true" on what asks for it`;
  }

  async write(id: ObjectId, expect: string | undefined, make: (at: Instant) => Contents): Promise<void> {
    const { cache, now, onWritten } = this.#options;
    const place = placeOf(id);
    const ended = cache.begin(place);
    try {
      const { written, on } =
        expect === undefined
          ? { written: await this.#create(id, place, make), on: undefined }
          : await this.#apply(id, place, expect, make);
      this.obstacles.overcome(id);
      ended(written.version);
      await cache.wrote(expect, written);
      if (on !== expect) await cache.wrote(on, written);
      onWritten?.(place, written.entries[place.part]?.record.digest ?? written.version);
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      if (OUTDATED.has(error.code)) {
        cache.doubt(place);
        throw new OperatorError('CONFLICT', `${id} changed meanwhile; looking again`, {
          retry: 'now',
          path: id,
          cause: error,
        });
      }
      if (REFUSED.has(error.code))
        this.obstacles.met(id, `the API server refuses it: ${error.message}`, now());
      throw error;
    } finally {
      ended(undefined);
    }
  }

  async #create(id: ObjectId, place: Place, make: (at: Instant) => Contents): Promise<Held> {
    const { kube, kinds, now, signal, signerOf } = this.#options;
    const { plural, namespace, name, part } = place;
    if (isField(place) || this.#options.isWhole?.(id) === true)
      throw new OperatorError('KUBE_NOT_FOUND', `${id} has gone`, { path: id });
    const at = now();
    const { data, record, seal } = make(at);
    const shape = SHAPES[plural];
    const signerName = signerOf(id);
    const body = merge(shape.body(nonEmpty(id, shape.spread({}, part, data))), {
      metadata: {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...marks(
          place,
          { [part]: { record, at, seal } },
          this.#options.namespace,
          record.labels,
          this.#options.annotationsOf?.(id, record),
        ),
      },
      ...(plural === 'secrets' ? { type: record.type ?? 'Opaque' } : {}),
      ...(signerName === undefined ? {} : { spec: { signerName } }),
    }) as KubeObject;
    const created = await kube.create(kinds[plural], body, {
      fieldManager: FIELD_MANAGER,
      signal,
      ...(namespace === undefined ? {} : { namespace }),
    });
    return heldOf(plural, created);
  }

  /** Lands on what was decided on: a version that differs only in what is not ours, such as its status, will do as well. */
  async #apply(
    id: ObjectId,
    place: Place,
    expect: string,
    make: (at: Instant) => Contents,
  ): Promise<{ readonly written: Held; readonly on: string }> {
    const held = await this.#atVersion(id, place, expect);
    for (let turn = 1, on = expect; ; turn++) {
      try {
        return { written: await this.#applyOn(id, place, held, on, make), on };
      } catch (error) {
        const lost = error instanceof HandoverError && error.code === 'KUBE_CONFLICT';
        if (!lost || turn === MOST_TURNS) throw error;
        const now = await this.#now(place);
        if (now === undefined || sameToUs(now) !== sameToUs(held)) throw error;
        on = now.version;
      }
    }
  }

  async #applyOn(
    id: ObjectId,
    place: Place,
    held: Held,
    version: string,
    make: (at: Instant) => Contents,
  ): Promise<Held> {
    const { kinds, now, signal, onRepair } = this.#options;
    const kube = isField(place) ? this.#options.swift : this.#options.kube;
    const { plural, namespace, name, part } = place;
    const shape = SHAPES[plural];
    const before = held.entries[part];
    const drifted =
      before !== undefined && digestOf(shape.read(held.texts, part) ?? {}) !== before.record.digest;
    const at = now();
    const { data, record, seal } = make(at);
    const entries: Entries = { ...held.entries, [part]: { record, at, seal } };
    // Apply takes away what it no longer mentions: everything of ours in this object is in it.
    const texts: Record<string, string> = {};
    for (const other of Object.keys(held.entries)) {
      for (const covered of shape.covers(held.texts, other)) {
        const text = held.texts[covered];
        if (text !== undefined) texts[covered] = text;
      }
    }
    Object.assign(texts, shape.spread(held.texts, part, data));
    const body = merge(shape.body(nonEmpty(id, texts)), {
      metadata: {
        name,
        resourceVersion: version,
        ...marks(
          place,
          entries,
          this.#options.namespace,
          record.labels,
          this.#options.annotationsOf?.(id, record),
        ),
      },
    });
    const which = { name, ...(namespace === undefined ? {} : { namespace }) };
    const strangers = this.#strangers(id, held);
    const how = { fieldManager: FIELD_MANAGER, signal };
    const applied = await kube.patch(
      kinds[plural],
      which,
      strangers.length === 0
        ? { apply: body, force: true, ...how }
        : // Apply cannot take away what others put there; null does.
          { merge: merge(body, { data: Object.fromEntries(strangers.map((key) => [key, null])) }), ...how },
    );
    // Only what has landed counts: a write that lost a race undid nothing.
    if (drifted) {
      const manager = held.lastForeign ?? 'somebody';
      this.contention.repaired(id, manager, now());
      onRepair?.(id, manager);
    }
    return heldOf(plural, applied);
  }

  async #now({ plural, namespace, name }: Place): Promise<Held | undefined> {
    const { kube, kinds, signal } = this.#options;
    const which = { name, ...(namespace === undefined ? {} : { namespace }) };
    const found = await kube.get(kinds[plural], which, { signal });
    return found === undefined ? undefined : heldOf(plural, found);
  }

  async #atVersion(id: ObjectId, place: Place, version: string): Promise<Held> {
    const cached = await this.#options.cache.held(place);
    if (cached?.version === version && cached.crowded !== true) return cached;
    const found = await this.#now(place);
    if (found?.version === version) return found;
    throw new OperatorError('KUBE_CONFLICT', `${id} is no longer at version ${version}`, {
      retry: 'now',
      path: id,
    });
  }
}

/**
 * Races that one write may lose against changes that are nothing to us. An API server that cannot reach an aggregated API writes its
 * status many times a second: whoever looked at everything again for each would never get through.
 */
const MOST_TURNS = 5;

/** Everything of an object that a decision about it rests on. */
const sameToUs = ({ uid, entries, texts, labelled, injectable, annotations }: Held): string =>
  JSON.stringify([uid, entries, texts, labelled, injectable, annotations]);

/** Somebody else was faster. */
const OUTDATED: ReadonlySet<string> = new Set(['KUBE_CONFLICT', 'KUBE_ALREADY_EXISTS', 'KUBE_NOT_FOUND']);
/** Trying again at once would not help; the others need not wait for it. */
const REFUSED: ReadonlySet<string> = new Set(['KUBE_FORBIDDEN', 'KUBE_INVALID']);

const issuedBy = (
  secrets: readonly Held[],
  authority: AuthorityId,
  known: ReadonlySet<ObjectId>,
): readonly ObjectId[] =>
  secrets
    .filter((held) => held.entries['']?.record.issuedBy === authority)
    .map((held) => idOfPlace({ ...held, part: '' }))
    .filter((id) => !known.has(id));

/** An empty caBundle means the system's roots: better no write at all. */
const nonEmpty = (id: ObjectId, texts: Texts): Texts => {
  const names = Object.keys(texts);
  if (names.length > 0 && names.every((name) => texts[name] !== '')) return texts;
  throw new OperatorError('BUNDLE_EMPTY', `${id} would become empty; it stays as it is`, { path: id });
};

const marks = (
  place: Place,
  entries: Entries,
  keptIn: string,
  labels: Readonly<Record<string, string>> | undefined,
  annotations: Readonly<Record<string, string>> | undefined,
): { labels?: Readonly<Record<string, string>>; annotations: Readonly<Record<string, string>> } => ({
  ...(isField(place)
    ? {}
    : { labels: { ...labels, 'app.kubernetes.io/managed-by': 'handover', [MANAGED_LABEL]: 'true' } }),
  annotations: { ...annotations, [RECORD]: formatEntries(entries, keptIn) },
});

/** `b` into `a`, maps inside maps. */
const merge = (
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
): Record<string, unknown> => {
  const merged: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const before = merged[name];
    merged[name] = isMap(before) && isMap(value) ? merge(before, value) : value;
  }
  return merged;
};

const iso = (at: Instant): string => new Date(at).toISOString();
