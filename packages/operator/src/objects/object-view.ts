import { ADOPT, Contended, type Obstacle, sameObstacle } from '@handover/core';
import {
  type Contention,
  digestOf,
  type FileData,
  type ObjectId,
  type ObjectRecord,
  type StoredObject,
} from '@handover/engine';
import { type Instant, recordOf } from '@handover/material';
import { OVER_SHARE } from '../cache/budget.ts';
import { adoptAdvice } from './adopt-advice.ts';
import type { Obstacles } from './obstacles.ts';
import { SHAPES } from './parts.ts';
import { isField, placeOf } from './place.ts';
import type { ObjectProjection } from './projection.ts';

export interface ViewOptions {
  /** Where authorities lie. */
  readonly namespace: string;
  readonly now: () => Instant;
  /** Whether a resource consents that an object which is not ours becomes ours. */
  readonly mayAdopt: (id: ObjectId) => boolean;
  /** Annotations that an object carries beside our own. */
  readonly annotationsOf?:
    | ((id: ObjectId, record: ObjectRecord) => Readonly<Record<string, string>> | undefined)
    | undefined;
  /** Whether an object is to hold nothing but what we put there, and is never made by us. */
  readonly isWhole?: ((id: ObjectId) => boolean) | undefined;
}

/** API objects as the engine sees them: their data, whether they are as we wrote them, and why some cannot be written. */
export class ObjectView {
  readonly #options: ViewOptions;
  readonly #obstacles: Obstacles;
  readonly #contention: Contention;
  readonly #read = new WeakMap<ObjectProjection, Map<string, FileData | undefined>>();
  /** The same answer for the same object, by which the engine knows that it has seen it before. */
  readonly #known = new WeakMap<
    ObjectProjection,
    Map<ObjectId, { readonly intact: boolean; readonly stored: StoredObject }>
  >();

  constructor(options: ViewOptions, obstacles: Obstacles, contention: Contention) {
    this.#options = options;
    this.#obstacles = obstacles;
    this.#contention = contention;
  }

  /** One part of an API object, with what is known about it. */
  stored(id: ObjectId, held: ObjectProjection): StoredObject {
    const place = placeOf(id);
    const { part } = place;
    const entry = held.entries[part];
    const data = this.#data(held, part);
    const obstacle = this.#obstacle(id, held, data);
    // Without its label it would not be watched: as good as changed.
    const watched = held.labelled || isField(place) || held.plural === 'clustertrustbundles';
    const intact =
      watched && this.#annotated(id, held, entry?.record) && this.strangers(id, held).length === 0;
    const known = this.#known.get(held)?.get(id);
    if (known?.intact === intact && sameObstacle(known.stored.obstacle, obstacle)) return known.stored;
    const stored = {
      version: held.version,
      data: data ?? recordOf([]),
      record: entry === undefined ? undefined : intact ? entry.record : { ...entry.record, digest: '' },
      ...(entry?.sealed === undefined ? {} : { claim: entry.sealed.claim }),
      ...(obstacle === undefined ? {} : { obstacle }),
    };
    this.#known.set(held, (this.#known.get(held) ?? new Map()).set(id, { intact, stored }));
    return stored;
  }

  /** The same data for the same object, so that what is known about them need not be found out again. */
  #data(held: ObjectProjection, part: string): FileData | undefined {
    const parts = this.#read.get(held) ?? new Map<string, FileData | undefined>();
    this.#read.set(held, parts);
    const outputs = held.entries[part]?.record.outputs?.files;
    if (!parts.has(part)) parts.set(part, SHAPES[held.plural].read(held.data, part, outputs));
    return parts.get(part);
  }

  #annotated(id: ObjectId, held: ObjectProjection, record: ObjectRecord | undefined): boolean {
    const wanted = record === undefined ? undefined : this.#options.annotationsOf?.(id, record);
    return Object.entries(wanted ?? {}).every(([name, value]) => held.annotations[name] === value);
  }

  /** Keys of others in an object whose `data` is to hold ours alone. */
  strangers(id: ObjectId, held: ObjectProjection): readonly string[] {
    if (isField(placeOf(id)) || this.#options.isWhole?.(id) !== true) return [];
    const { part } = placeOf(id);
    const ours = new Set(
      SHAPES[held.plural].covers(held.data, part, held.entries[part]?.record.outputs?.files),
    );
    return Object.keys(held.data).filter((name) => !ours.has(name) && !held.binary.includes(name));
  }

  #obstacle(id: ObjectId, held: ObjectProjection, data: FileData | undefined): Obstacle | undefined {
    const { now, mayAdopt } = this.#options;
    const place = placeOf(id);
    if (data === undefined)
      return `it has no webhook ${place.part.replaceAll(',', ', ')}; name one that it has`;
    const { keptIn = this.#options.namespace } = held;
    if (keptIn !== this.#options.namespace && !mayAdopt(id))
      return `it is kept by the operator of namespace ${keptIn}; stop that one, or set ${ADOPT}: "true" on the resource that asks for this object`;
    if (held.overBudget === true) return OVER_SHARE;
    if (held.immutable) return 'it is immutable; delete it and Handover recreates it';
    const met = this.#obstacles.why(id, now());
    if (met !== undefined) return met;
    const fight = this.#contention.standoff(id, now());
    // A manager that leaves our last write alone does not fight.
    if (fight !== undefined && held.entries[place.part]?.record.digest !== digestOf(data)) {
      return new Contended(fight.manager, fight.until);
    }
    const foreign = held.entries[place.part] === undefined && Object.keys(data).length > 0 && !isField(place);
    if (!foreign || mayAdopt(id) || this.#options.isWhole?.(id) === true) return undefined;
    return `it exists and is kept by ${held.owner ?? 'another program'}; choose another name, remove it, or take it over: ${adoptAdvice(place)}`;
  }
}
