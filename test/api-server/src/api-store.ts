import { apiVersionOf, type ResourceKind } from '@handover/kube';
import type { Clock } from '@handover/material';
import { ApiFailure, badRequest, conflict, invalid, noSuchResource, notFound } from './api-failure.ts';
import { apply, claim, managedFieldsOf, type Owner } from './apply.ts';
import { History } from './history.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { BUILT_IN, kindsOfCrd, type ServedKind } from './known-kinds.ts';
import {
  apiTime,
  firstVersion,
  isUnchanged,
  type Meta,
  MODIFIED,
  metaOf,
  mustMatch,
  newName,
  nextVersion,
  type Stored,
  type Where,
} from './versions.ts';

export interface By {
  readonly manager: string;
  readonly subresource: string;
  readonly dryRun: boolean;
}

/** The rest of a list that a client reads page by page: all pages are of one moment. */
interface Snapshot {
  readonly version: number;
  readonly rest: readonly JsonObject[];
}

export const collectionOf = ({ group, plural }: ResourceKind): string => `${group}/${plural}`;
const keyOf = (kind: ResourceKind, { namespace, name }: Where): string =>
  `${collectionOf(kind)}/${namespace ?? ''}/${name}`;

/** Objects, their versions and their history. */
export class ApiStore {
  readonly #clock: Clock;
  readonly history = new History();
  /** By the `continue` token of the next page. */
  readonly snapshots = new Map<string, Snapshot>();
  readonly #served = new Map<string, ServedKind>();
  readonly #objects = new Map<string, Stored>();

  constructor(clock: Clock) {
    this.#clock = clock;
    for (const served of BUILT_IN) this.serve(served);
    for (const name of ['default', 'kube-system']) {
      const by = { manager: 'server', subresource: '', dryRun: false };
      this.create(this.kind('', 'v1', 'namespaces'), { namespace: undefined, name }, {}, by);
    }
  }

  #time(): string {
    return apiTime(this.#clock.now());
  }

  serve(served: ServedKind): void {
    const { group, version, plural } = served.kind;
    this.#served.set(`${group}/${version}/${plural}`, served);
  }

  served(): readonly ServedKind[] {
    return [...this.#served.values()];
  }

  kind(group: string, version: string, plural: string): ServedKind {
    const served = this.#served.get(`${group}/${version}/${plural}`);
    if (served === undefined) throw noSuchResource();
    return served;
  }

  get(served: ServedKind, where: Where): JsonObject {
    return this.#stored(served, where).object;
  }

  all(kind: ResourceKind, namespace: string | undefined): JsonObject[] {
    const prefix = `${collectionOf(kind)}/${namespace === undefined ? '' : `${namespace}/`}`;
    return [...this.#objects]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { object }]) => object);
  }

  create(served: ServedKind, { namespace, name: given }: Where, body: JsonObject, by: By): JsonObject {
    const { kind } = served;
    const name = newName(kind, given, metaOf(body));
    const where = { namespace, name };
    if (namespace !== undefined)
      this.get(this.kind('', 'v1', 'namespaces'), { namespace: undefined, name: namespace });
    if (this.#objects.has(keyOf(kind, where))) {
      const message = `${kind.plural} "${name}" already exists`;
      throw new ApiFailure(409, 'AlreadyExists', message, { name, kind: kind.plural });
    }
    return this.#put(served, where, undefined, firstVersion(served, where, body, this.#time()), by);
  }

  update(served: ServedKind, where: Where, body: JsonObject, by: By): JsonObject {
    const stored = this.#stored(served, where);
    const { kind } = served;
    const { name, resourceVersion } = metaOf(body);
    if (name !== undefined && name !== where.name) {
      throw badRequest(`the name of the object (${name}) does not match the name on the URL (${where.name})`);
    }
    if (served.strict && !resourceVersion) {
      const why = 'Invalid value: 0: must be specified for an update';
      throw invalid(kind.kind, where.name, 'metadata.resourceVersion', why);
    }
    return this.#replace(served, where, stored, body, by);
  }

  /** `change` makes the new object out of the current one. */
  patch(served: ServedKind, where: Where, change: (object: JsonObject) => Json, by: By): JsonObject {
    const stored = this.#stored(served, where);
    const patched = change(stored.object);
    if (!isObject(patched)) throw badRequest('a patch must leave an object');
    return this.#replace(served, where, stored, patched, by);
  }

  apply(
    served: ServedKind,
    where: Where,
    body: JsonObject,
    by: By & { readonly force: boolean },
  ): JsonObject {
    const stored = this.#objects.get(keyOf(served.kind, where));
    if (stored !== undefined) mustMatch(served.kind, where.name, stored.object, metaOf(body));
    const time = this.#time();
    const { object, owners } = apply(stored?.object, stored?.owners ?? [], body, { ...by, time });
    if (stored !== undefined) return this.#replace(served, where, stored, object, by, owners);
    if (metaOf(body).resourceVersion) throw conflict(served.kind.plural, where.name, MODIFIED);
    const made = this.create(served, where, object, { ...by, dryRun: true });
    return this.#put(served, where, undefined, made, by, owners);
  }

  /** The object when a finalizer holds it; undefined when it is gone. */
  delete(
    served: ServedKind,
    where: Where,
    preconditions: Pick<Meta, 'uid' | 'resourceVersion'>,
    dryRun: boolean,
  ): JsonObject | undefined {
    const { object, owners } = this.#stored(served, where);
    mustMatch(served.kind, where.name, object, preconditions);
    if (dryRun) return undefined;
    const { finalizers = [], deletionTimestamp } = metaOf(object);
    if (finalizers.length > 0) {
      if (deletionTimestamp !== undefined) return object;
      const metadata = {
        ...(object.metadata as JsonObject),
        deletionTimestamp: this.#time(),
        deletionGracePeriodSeconds: 0,
      };
      return this.#record(served, where, object, { object: { ...object, metadata }, owners });
    }
    this.#record(served, where, object, undefined);
    if (served.kind.plural === 'namespaces') this.#empty(where.name);
    return undefined;
  }

  #empty(namespace: string): void {
    for (const served of this.served().filter(({ kind }) => kind.namespaced)) {
      for (const object of this.all(served.kind, namespace)) {
        this.#record(served, { namespace, name: metaOf(object).name ?? '' }, object, undefined);
      }
    }
  }

  #stored(served: ServedKind, where: Where): Stored {
    const stored = this.#objects.get(keyOf(served.kind, where));
    if (stored === undefined) throw notFound(served.kind.plural, where.name);
    return stored;
  }

  #replace(
    served: ServedKind,
    where: Where,
    stored: Stored,
    body: JsonObject,
    by: By,
    owners?: readonly Owner[],
  ): JsonObject {
    mustMatch(served.kind, where.name, stored.object, metaOf(body));
    const after = nextVersion(served, stored.object, body, by.subresource);
    return this.#put(served, where, stored, after, by, owners);
  }

  /** `owners` is left out: every changed field becomes the writer's. */
  #put(
    served: ServedKind,
    where: Where,
    stored: Stored | undefined,
    object: JsonObject,
    by: By,
    given?: readonly Owner[],
  ): JsonObject {
    const owners =
      given ?? claim(stored?.object, object, stored?.owners ?? [], { ...by, time: this.#time() });
    const { resourceVersion: _, ...metadata } = object.metadata as JsonObject;
    const managedFields = managedFieldsOf(owners, apiVersionOf(served.kind));
    const next = { object: { ...object, metadata: { ...metadata, managedFields } }, owners };
    if (stored !== undefined && isUnchanged(stored, next)) return stored.object;
    if (by.dryRun) return next.object;
    const { finalizers = [], deletionTimestamp } = metaOf(object);
    if (deletionTimestamp !== undefined && finalizers.length === 0) {
      this.#record(served, where, stored?.object, undefined);
      return next.object;
    }
    if (served.kind.plural === 'customresourcedefinitions')
      for (const one of kindsOfCrd(object)) this.serve(one);
    return this.#record(served, where, stored?.object, next);
  }

  #record(
    { kind }: ServedKind,
    where: Where,
    before: JsonObject | undefined,
    next: Stored | undefined,
  ): JsonObject {
    const recorded = this.history.add(collectionOf(kind), before, next?.object);
    const { after: object } = recorded;
    if (object === undefined || next === undefined) this.#objects.delete(keyOf(kind, where));
    else this.#objects.set(keyOf(kind, where), { object, owners: next.owners });
    return object ?? recorded.before ?? {};
  }
}
