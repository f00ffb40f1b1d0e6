import { isUtf8 } from 'node:buffer';
import { MANAGED_BY, MANAGED_LABEL } from '@handover/core';
import {
  type AuthorityId,
  Contention,
  type Contents,
  digestOf,
  type FileData,
  type ObjectId,
  type ObjectReader,
  type ObjectRecord,
  type ObjectWriter,
  type RecordedObject,
} from '@handover/engine';
import type { Kube, KubeErrorCode, KubeObject } from '@handover/kube';
import { HandoverError, type Instant, isMap, type Json } from '@handover/material';
import { isCode, OperatorError } from '../error.ts';
import { adoptAdvice } from './adopt-advice.ts';
import type { Source } from './fresh.ts';
import type { Kinds } from './kinds.ts';
import { ObjectView, type ViewOptions } from './object-view.ts';
import { Obstacles } from './obstacles.ts';
import type { OwnWritesCache } from './own-writes-cache.ts';
import { ourNames, SHAPES } from './parts.ts';
import { idOfPlace, isField, type Place, placeOf, whichOf } from './place.ts';
import { type ObjectProjection, projectObject } from './projection.ts';
import { FIELD_MANAGER, formatRecord, RECORD, type RecordEntries } from './record.ts';

interface Written {
  /** Everything of ours in the object. */
  readonly data: FileData;
  readonly entries: RecordEntries;
  /** The namespace that the authority's state lies in. */
  readonly keptIn: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

/** What is sent to the API server: the fields that hold `data`, and the marks by which the object is ours. */
export const bodyOf = (id: ObjectId, { data, entries, keptIn, labels, annotations }: Written): Json => {
  const place = placeOf(id);
  const metadata = {
    ...(isField(place) ? {} : { labels: { ...labels, [MANAGED_BY]: 'handover', [MANAGED_LABEL]: 'true' } }),
    annotations: { ...annotations, [RECORD]: formatRecord(entries, keptIn) },
  };
  return { ...SHAPES[place.plural].body(nonEmpty(id, data)), metadata };
};

/** An empty caBundle means the system's roots: better no write at all. */
const nonEmpty = (id: ObjectId, data: FileData): FileData => {
  const files = Object.values(data);
  if (files.length > 0 && files.every((bytes) => bytes.length > 0)) return data;
  throw new OperatorError('BUNDLE_EMPTY', `${id} would become empty; it stays as it is`, { path: id });
};

const nulls = (names: readonly string[]): Json => Object.fromEntries(names.map((name) => [name, null]));

/**
 * Keys that have to leave an object, as nulls: those of strangers, and those that move between `data` and `binaryData` of a
 * ConfigMap, which must not both have one. Undefined: there are none. Apply takes away only what an apply of ours put there.
 */
export const leaving = (
  held: ObjectProjection,
  strangers: readonly string[],
  data: FileData,
): Json | undefined => {
  const moves = Object.entries(data).flatMap(([name, bytes]) =>
    held.plural === 'configmaps' &&
    Object.hasOwn(held.data, name) &&
    held.binary.includes(name) === isUtf8(bytes)
      ? [name]
      : [],
  );
  const isBinary = (name: string): boolean => held.binary.includes(name);
  const leave = [...strangers, ...moves];
  const binary = leave.filter(isBinary);
  const text = leave.filter((name) => !isBinary(name));
  if (binary.length + text.length === 0) return undefined;
  return { data: nulls(text), ...(binary.length === 0 ? {} : { binaryData: nulls(binary) }) };
};

/** `b` into `a`, maps inside maps. */
const mergeBody = (a: Json, b: Json): Record<string, unknown> => {
  const merged: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const before = merged[name];
    merged[name] = isMap(before) && isMap(value) ? mergeBody(before, value) : value;
  }
  return merged;
};

export interface ObjectStoreOptions extends ViewOptions {
  /** Writes go through these clients alone, which know whether we still lead; the second is for API fields. */
  readonly kube: Kube;
  readonly caBundleClient: Kube;
  readonly kinds: Kinds;
  readonly cache: OwnWritesCache;
  readonly signal: AbortSignal;
  readonly signerOf: (id: ObjectId) => string | undefined;
  /** Another manager had changed it, and it is being put right. */
  readonly onRepair?: (id: ObjectId, manager: string) => void;
  readonly onWritten?: (place: Place, digest: string) => void;
}

/** The derived objects on an API server: how they are written, and why some cannot be. */
export class ObjectStore {
  readonly #options: ObjectStoreOptions;
  readonly obstacles = new Obstacles();
  readonly #contention = new Contention();
  readonly #view: ObjectView;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
    this.#view = new ObjectView(options, this.obstacles, this.#contention);
  }

  /** What a source shows, as the engine's ports want it. */
  view(source: Source): ObjectReader & ObjectWriter {
    return {
      read: async (id) => {
        const held = await source.held(placeOf(id));
        return held === undefined ? undefined : this.#view.stored(id, held);
      },
      whyAbsent: (id) => this.obstacles.why(id, this.#options.now()),
      issuedBy: async (authority, known) => issuedBy(await source.all('secrets'), authority, known),
      recorded: async () => [
        ...recordedIn(await source.all('secrets')),
        ...recordedIn(await source.all('configmaps')),
      ],
      write: (id, expect, make) => this.write(id, expect, make),
    };
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

  async #create(id: ObjectId, place: Place, make: (at: Instant) => Contents): Promise<ObjectProjection> {
    const { kube, kinds, now, signal, signerOf } = this.#options;
    const { plural, namespace, part } = place;
    if (isField(place) || this.#options.isWhole?.(id) === true)
      throw new OperatorError('KUBE_NOT_FOUND', `${id} has gone`, { path: id });
    const at = now();
    const { data, record, seal } = make(at);
    const signerName = signerOf(id);
    const entries = { [part]: { record, at, seal } };
    const body = mergeBody(this.#body(id, record, entries, SHAPES[plural].spread({}, part, data)), {
      metadata: whichOf(place),
      ...(plural === 'secrets' ? { type: record.type ?? 'Opaque' } : {}),
      ...(signerName === undefined ? {} : { spec: { signerName } }),
    }) as KubeObject;
    const created = await kube.create(kinds[plural], body, {
      fieldManager: FIELD_MANAGER,
      signal,
      ...(namespace === undefined ? {} : { namespace }),
    });
    return projectObject(plural, created);
  }

  /** Lands on what was decided on: a version that differs only in what is not ours, such as its status, will do as well. */
  async #apply(
    id: ObjectId,
    place: Place,
    expect: string,
    make: (at: Instant) => Contents,
  ): Promise<{ readonly written: ObjectProjection; readonly on: string }> {
    const held = await this.#atVersion(id, place, expect);
    for (let turn = 1, on = expect; ; turn++) {
      try {
        return { written: await this.#applyOn(id, place, held, on, make), on };
      } catch (error) {
        if (!isCode(error, 'KUBE_CONFLICT') || turn === MOST_TURNS) throw error;
        const now = await this.#now(place);
        if (now === undefined || sameToUs(now) !== sameToUs(held)) throw error;
        on = now.version;
      }
    }
  }

  async #applyOn(
    id: ObjectId,
    place: Place,
    held: ObjectProjection,
    version: string,
    make: (at: Instant) => Contents,
  ): Promise<ObjectProjection> {
    const { kinds, now, signal, onRepair } = this.#options;
    const kube = isField(place) ? this.#options.caBundleClient : this.#options.kube;
    const { plural, part } = place;
    const shape = SHAPES[plural];
    const before = held.entries[part];
    const drifted =
      before !== undefined &&
      digestOf(shape.read(held.data, part, before.record.outputs?.files) ?? {}) !== before.record.digest;
    const at = now();
    const { data, record, seal } = make(at);
    this.#refuseForeign(id, held, record);
    const entries: RecordEntries = { ...held.entries, [part]: { record, at, seal } };
    // Apply takes away what it no longer mentions: everything of ours in this object is in it.
    const ours = new Map<string, Uint8Array>();
    for (const other of Object.keys(held.entries)) {
      // What this part no longer has is left out, and so removed.
      const outputs = other === part ? [] : held.entries[other]?.record.outputs?.files;
      for (const covered of shape.covers(held.data, other, outputs)) {
        const bytes = Object.hasOwn(held.data, covered) ? held.data[covered] : undefined;
        if (bytes !== undefined) ours.set(covered, bytes);
      }
    }
    const files = { ...Object.fromEntries(ours), ...shape.spread(held.data, part, data) };
    const body = mergeBody(this.#body(id, record, entries, files), {
      metadata: { name: place.name, resourceVersion: version },
    });
    const dropped = (before?.record.outputs?.files ?? []).filter(
      (name) => Object.hasOwn(held.data, name) && !Object.hasOwn(files, name),
    );
    const gone = leaving(held, [...this.#view.strangers(id, held), ...dropped], files);
    const how = { fieldManager: FIELD_MANAGER, signal };
    const applied = await kube.patch(
      kinds[plural],
      whichOf(place),
      gone === undefined ? { apply: body, force: true, ...how } : { merge: mergeBody(body, gone), ...how },
    );
    // Only what has landed counts: a write that lost a race undid nothing.
    if (drifted) {
      const manager = held.lastForeign ?? 'another manager';
      this.#contention.repaired(id, manager, now());
      onRepair?.(id, manager);
    }
    return projectObject(plural, applied);
  }

  /** Refuses to replace a key that lies where another format of the object should be, and that another program wrote. */
  #refuseForeign(id: ObjectId, held: ObjectProjection, { outputs }: ObjectRecord): void {
    const { mayAdopt, now } = this.#options;
    if (outputs === undefined || mayAdopt(id)) return;
    const ours = new Set(ourNames(held.plural, held.data, held.entries));
    const stray = outputs.files.find((name) => Object.hasOwn(held.data, name) && !ours.has(name));
    if (stray === undefined) return;
    const why = `another program wrote its key ${stray}; give the output another name, remove the key, or take it over: ${adoptAdvice(placeOf(id))}`;
    this.obstacles.met(id, why, now());
    throw new OperatorError('OBJECT_OBSTACLE', `${id}: ${why}`, { path: id, retry: 'later' });
  }

  #body(
    id: ObjectId,
    record: ObjectRecord,
    entries: RecordEntries,
    data: FileData,
  ): ReturnType<typeof bodyOf> {
    const { namespace: keptIn, annotationsOf } = this.#options;
    return bodyOf(id, {
      data,
      entries,
      keptIn,
      labels: record.labels,
      annotations: annotationsOf?.(id, record),
    });
  }

  async #now(place: Place): Promise<ObjectProjection | undefined> {
    const { kube, kinds, signal } = this.#options;
    const found = await kube.get(kinds[place.plural], whichOf(place), { signal });
    return found === undefined ? undefined : projectObject(place.plural, found);
  }

  async #atVersion(id: ObjectId, place: Place, version: string): Promise<ObjectProjection> {
    const cached = await this.#options.cache.held(place);
    if (cached?.version === version && cached.overBudget !== true) return cached;
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
 * status many times a second: looking at everything again for each would never end.
 */
const MOST_TURNS = 5;

/** Everything of an object that a decision about it rests on. */
const sameToUs = ({
  uid,
  entries,
  data,
  binary,
  labelled,
  injectable,
  annotations,
}: ObjectProjection): string =>
  JSON.stringify([uid, entries, digestOf(data), binary, labelled, injectable, annotations]);

/** Another write was faster. */
const OUTDATED: ReadonlySet<string> = new Set<KubeErrorCode>([
  'KUBE_CONFLICT',
  'KUBE_ALREADY_EXISTS',
  'KUBE_NOT_FOUND',
]);
/** Trying again at once would not help; the others need not wait for it. */
const REFUSED: ReadonlySet<string> = new Set<KubeErrorCode>(['KUBE_FORBIDDEN', 'KUBE_INVALID']);

const recordedIn = (all: readonly ObjectProjection[]): readonly RecordedObject[] =>
  all.flatMap((held) =>
    Object.entries(held.entries).map(([part, { record, sealed }]) => ({
      id: idOfPlace({ ...held, part }),
      record,
      claim: sealed?.claim,
    })),
  );

const issuedBy = (
  secrets: readonly ObjectProjection[],
  authority: AuthorityId,
  known: ReadonlySet<ObjectId>,
): readonly ObjectId[] =>
  secrets
    .filter((held) => held.entries['']?.record.issuedBy === authority)
    .map((held) => idOfPlace({ ...held, part: '' }))
    .filter((id) => !known.has(id));
