import { randomUUID } from 'node:crypto';
import { apiVersionOf, type Kind } from '../kinds.ts';
import { ApiFailure, badRequest, conflict, expired, invalid, notFound } from './api-failure.ts';
import { type Applied, apply, claim, managedFieldsOf, type Owner } from './apply.ts';
import { isObject, type Json, type JsonObject, sameJson } from './json.ts';
import { BUILT_IN, kindsOfCrd, type ServedKind } from './known-kinds.ts';

export interface Meta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  finalizers?: string[];
  deletionTimestamp?: string;
}

export const metaOf = (object: JsonObject): Meta => (object.metadata ?? {}) as Meta;

export interface Where {
  readonly namespace: string | undefined;
  readonly name: string;
}

interface Stored {
  readonly object: JsonObject;
  readonly owners: readonly Owner[];
}

/** One change, with the object before it: a selector may see it enter or leave. */
export interface Recorded {
  readonly version: number;
  readonly collection: string;
  readonly before: JsonObject | undefined;
  readonly after: JsonObject | undefined;
}

export interface By {
  readonly manager: string;
  readonly subresource: string;
  readonly dryRun: boolean;
}

const HISTORY = 20_000;
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';

export const collectionOf = ({ group, plural }: Kind): string => `${group}/${plural}`;
const keyOf = (kind: Kind, { namespace, name }: Where): string =>
  `${collectionOf(kind)}/${namespace ?? ''}/${name}`;

/** Objects, their versions and what happened to them. */
export class ApiStore {
  readonly #served = new Map<string, ServedKind>();
  readonly #objects = new Map<string, Stored>();
  readonly #watchers = new Set<(recorded: Recorded) => void>();
  #history: Recorded[] = [];
  #version = 1000;
  /** Changes up to here are forgotten. */
  #forgotten = 1000;

  constructor() {
    for (const served of BUILT_IN) this.serve(served);
    for (const name of ['default', 'kube-system']) {
      const where = { namespace: undefined, name };
      const namespaces = this.kind('', 'v1', 'namespaces');
      this.create(
        namespaces,
        where,
        { metadata: { name } },
        { manager: 'server', subresource: '', dryRun: false },
      );
    }
  }

  get version(): string {
    return String(this.#version);
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
    if (served === undefined) {
      throw new ApiFailure(404, 'NotFound', 'the server could not find the requested resource');
    }
    return served;
  }

  get(served: ServedKind, where: Where): JsonObject {
    return this.#stored(served, where).object;
  }

  all(kind: Kind, namespace: string | undefined): JsonObject[] {
    const prefix = `${collectionOf(kind)}/${namespace === undefined ? '' : `${namespace}/`}`;
    return [...this.#objects]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { object }]) => object);
  }

  /** What happened after `version`; throws 410 when that is no longer known. */
  since(version: number): readonly Recorded[] {
    if (version < this.#forgotten) throw expired(`${version} (${this.#forgotten})`);
    if (version > this.#version) {
      const cause = { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' };
      throw new ApiFailure(
        504,
        'Timeout',
        `Too large resource version: ${version}, current: ${this.#version}`,
        {
          causes: [cause],
          retryAfterSeconds: 1,
        },
      );
    }
    return this.#history.filter((recorded) => recorded.version > version);
  }

  watch(watcher: (recorded: Recorded) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Forgets what happened so far: every older version is 410 from now on. */
  compact(): void {
    this.#forgotten = this.#version;
    this.#history = [];
  }

  create(served: ServedKind, { namespace, name: given }: Where, body: JsonObject, by: By): JsonObject {
    const { kind } = served;
    const meta = metaOf(body);
    const generated = `${meta.generateName ?? ''}${randomUUID().slice(0, 5)}`;
    const name = (given || meta.name) ?? (meta.generateName === undefined ? '' : generated);
    if (name === '')
      throw invalid(kind.kind, '', 'metadata.name', 'Required value: name or generateName is required');
    if (!NAME.test(name)) throw invalid(kind.kind, name, 'metadata.name', `Invalid value: "${name}"`);
    if (meta.resourceVersion) {
      // So the real one answers, and not with a 400.
      throw new ApiFailure(
        500,
        'InternalError',
        'resourceVersion should not be set on objects to be created',
      );
    }
    if (namespace !== undefined)
      this.get(this.kind('', 'v1', 'namespaces'), { namespace: undefined, name: namespace });
    if (this.#objects.has(keyOf(kind, { namespace, name }))) {
      throw new ApiFailure(409, 'AlreadyExists', `${kind.plural} "${name}" already exists`, {
        name,
        kind: kind.plural,
      });
    }
    const { status: _, ...withoutStatus } = body;
    const time = new Date().toISOString().replace(/\.\d+/, '');
    const object: JsonObject = {
      ...(served.hasStatus ? withoutStatus : body),
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: {
        ...(body.metadata as JsonObject),
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid: randomUUID(),
        creationTimestamp: time,
        ...(served.generations ? { generation: 1 } : {}),
      },
    };
    return this.#put(served, { namespace, name }, undefined, this.#normal(object), [], { ...by, time });
  }

  update(served: ServedKind, where: Where, body: JsonObject, by: By): JsonObject {
    const stored = this.#stored(served, where);
    const { kind } = served;
    const meta = metaOf(body);
    if (meta.name !== undefined && meta.name !== where.name) {
      throw badRequest(
        `the name of the object (${meta.name}) does not match the name on the URL (${where.name})`,
      );
    }
    if (served.strict && !meta.resourceVersion) {
      throw invalid(
        kind.kind,
        where.name,
        'metadata.resourceVersion',
        'Invalid value: 0: must be specified for an update',
      );
    }
    this.#mustMatch(kind, where, stored.object, meta);
    return this.#replace(served, where, stored, body, by);
  }

  /** `change` makes the new object out of the current one. */
  patch(served: ServedKind, where: Where, change: (object: JsonObject) => Json, by: By): JsonObject {
    const stored = this.#stored(served, where);
    const patched = change(stored.object);
    if (!isObject(patched)) throw badRequest('a patch must leave an object');
    this.#mustMatch(served.kind, where, stored.object, metaOf(patched));
    return this.#replace(served, where, stored, patched, by);
  }

  apply(
    served: ServedKind,
    where: Where,
    body: JsonObject,
    by: By & { readonly force: boolean },
  ): JsonObject {
    const stored = this.#objects.get(keyOf(served.kind, where));
    if (stored !== undefined) this.#mustMatch(served.kind, where, stored.object, metaOf(body));
    const time = new Date().toISOString().replace(/\.\d+/, '');
    const { object, owners }: Applied = apply(stored?.object, stored?.owners ?? [], body, { ...by, time });
    if (stored === undefined) {
      if (metaOf(body).resourceVersion) throw conflict(served.kind.plural, where.name, MODIFIED);
      const made = this.create(served, where, object, { ...by, dryRun: true });
      return this.#put(served, where, undefined, made, owners, { ...by, time }, true);
    }
    return this.#replace(served, where, stored, object, by, owners);
  }

  delete(
    served: ServedKind,
    where: Where,
    { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string },
    dryRun: boolean,
  ): JsonObject | undefined {
    const { object, owners } = this.#stored(served, where);
    const meta = metaOf(object);
    const { plural } = served.kind;
    if (uid !== undefined && uid !== meta.uid) {
      throw conflict(
        plural,
        where.name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${meta.uid}`,
      );
    }
    if (resourceVersion !== undefined && resourceVersion !== meta.resourceVersion) {
      throw conflict(plural, where.name, 'Precondition failed: ResourceVersion in precondition differs');
    }
    if (dryRun) return undefined;
    if ((meta.finalizers ?? []).length > 0) {
      if (meta.deletionTimestamp !== undefined) return object;
      const deletionTimestamp = new Date().toISOString().replace(/\.\d+/, '');
      const metadata = {
        ...(object.metadata as JsonObject),
        deletionTimestamp,
        deletionGracePeriodSeconds: 0,
      };
      return this.#record(served, where, object, { object: { ...object, metadata }, owners });
    }
    this.#record(served, where, object, undefined);
    if (plural === 'namespaces') this.#empty(where.name);
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

  #mustMatch({ plural }: Kind, { name }: Where, current: JsonObject, given: Meta): void {
    const meta = metaOf(current);
    if (given.uid !== undefined && given.uid !== meta.uid) {
      throw conflict(
        plural,
        name,
        `Precondition failed: UID in precondition: ${given.uid}, UID in object meta: ${meta.uid}`,
      );
    }
    if (given.resourceVersion && given.resourceVersion !== meta.resourceVersion)
      throw conflict(plural, name, MODIFIED);
  }

  /** Base64 data out of stringData, as the API does for Secrets. */
  #normal(object: JsonObject): JsonObject {
    if (object.kind !== 'Secret') return object;
    const { stringData, ...rest } = object;
    const more = Object.entries(isObject(stringData) ? stringData : {}).map(
      ([name, value]) => [name, Buffer.from(String(value)).toString('base64')] as const,
    );
    if (more.length > 0) rest.data = { ...(rest.data as JsonObject), ...Object.fromEntries(more) };
    return { type: 'Opaque', ...rest };
  }

  #replace(
    served: ServedKind,
    where: Where,
    stored: Stored,
    body: JsonObject,
    by: By,
    owners?: readonly Owner[],
  ): JsonObject {
    const { object: before } = stored;
    const old = before.metadata as JsonObject;
    const onlyStatus = by.subresource === 'status';
    const given = (onlyStatus && served.custom ? old : (body.metadata ?? {})) as JsonObject;
    const fixed: JsonObject = {};
    for (const name of ['name', 'namespace', 'uid', 'creationTimestamp', 'generation', 'deletionTimestamp']) {
      if (old[name] !== undefined) fixed[name] = old[name];
    }
    if (old.deletionGracePeriodSeconds !== undefined)
      fixed.deletionGracePeriodSeconds = old.deletionGracePeriodSeconds;
    const { status: newStatus, ...newRest } = body;
    const { status: oldStatus, metadata: _, ...oldRest } = before;
    const status = onlyStatus || !served.hasStatus ? newStatus : oldStatus;
    const rest = onlyStatus ? oldRest : newRest;
    let after = this.#normal({
      ...rest,
      apiVersion: apiVersionOf(served.kind),
      kind: served.kind.kind,
      metadata: { ...given, ...fixed },
      ...(status === undefined ? {} : { status }),
    });
    if (served.generations && !onlyStatus) {
      const spec = ({ metadata, status: s, apiVersion, kind, ...more }: JsonObject): JsonObject => more;
      if (!sameJson(spec(before), spec(after))) {
        const generation = Number(old.generation ?? 0) + 1;
        after = { ...after, metadata: { ...(after.metadata as JsonObject), generation } };
      }
    }
    const time = new Date().toISOString().replace(/\.\d+/, '');
    return this.#put(
      served,
      where,
      stored,
      after,
      owners ?? stored.owners,
      { ...by, time },
      owners !== undefined,
    );
  }

  #put(
    served: ServedKind,
    where: Where,
    stored: Stored | undefined,
    object: JsonObject,
    owners: readonly Owner[],
    by: By & { readonly time: string },
    owned = false,
  ): JsonObject {
    const now = owned ? owners : claim(stored?.object, object, owners, by);
    const { resourceVersion: _, managedFields: __, ...metadata } = object.metadata as JsonObject;
    const fields = managedFieldsOf(now, apiVersionOf(served.kind));
    const next = { ...object, metadata: { ...metadata, managedFields: fields } };
    if (stored !== undefined) {
      const withoutTimes = (owner: readonly Owner[]) =>
        owner.map(({ manager, operation, subresource, leaves }) => [
          manager,
          operation,
          subresource,
          [...leaves].sort(),
        ]);
      const { resourceVersion, managedFields, ...oldMeta } = stored.object.metadata as JsonObject;
      const same =
        sameJson({ ...stored.object, metadata: oldMeta }, { ...object, metadata }) &&
        JSON.stringify(withoutTimes(stored.owners)) === JSON.stringify(withoutTimes(now));
      if (same) return stored.object;
    }
    const finished =
      metaOf(next).deletionTimestamp !== undefined && (metaOf(next).finalizers ?? []).length === 0;
    if (by.dryRun) return next;
    if (finished) {
      this.#record(served, where, stored?.object, undefined);
      return next;
    }
    const recorded = this.#record(served, where, stored?.object, { object: next, owners: now });
    if (served.kind.plural === 'customresourcedefinitions')
      for (const one of kindsOfCrd(next)) this.serve(one);
    return recorded;
  }

  #record(
    { kind }: ServedKind,
    where: Where,
    before: JsonObject | undefined,
    after: Stored | undefined,
  ): JsonObject {
    this.#version++;
    const resourceVersion = String(this.#version);
    const stamped = (object: JsonObject): JsonObject => ({
      ...object,
      metadata: { ...(object.metadata as JsonObject), resourceVersion },
    });
    const object = after === undefined ? undefined : stamped(after.object);
    if (object === undefined) this.#objects.delete(keyOf(kind, where));
    else this.#objects.set(keyOf(kind, where), { object, owners: after?.owners ?? [] });
    const recorded: Recorded = {
      version: this.#version,
      collection: collectionOf(kind),
      before: object === undefined && before !== undefined ? stamped(before) : before,
      after: object,
    };
    this.#history.push(recorded);
    if (this.#history.length > HISTORY) {
      this.#forgotten = this.#history[HISTORY / 2]?.version ?? this.#forgotten;
      this.#history = this.#history.slice(HISTORY / 2 + 1);
    }
    for (const watcher of this.#watchers) watcher(recorded);
    return object ?? recorded.before ?? {};
  }
}
