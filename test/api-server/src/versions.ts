import { randomUUID } from 'node:crypto';
import { apiVersionOf, type ResourceKind } from '@handover/kube';
import type { Instant } from '@handover/material';
import { ApiFailure, conflict, invalid } from './api-failure.ts';
import type { Owner } from './apply.ts';
import { isObject, type JsonObject, sameJson } from './json.ts';
import type { ServedKind } from './known-kinds.ts';

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

export interface Stored {
  readonly object: JsonObject;
  readonly owners: readonly Owner[];
}

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
/** Only the server sets these. */
const FIXED = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
];
export const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';

/** Whole seconds, as the API has them. */
export const apiTime = (at: Instant): string => new Date(at).toISOString().replace(/\.\d+/, '');

/** Base64 data out of stringData, as the API does for Secrets. */
function normal(object: JsonObject): JsonObject {
  if (object.kind !== 'Secret') return object;
  const { stringData, ...rest } = object;
  const more = Object.entries(isObject(stringData) ? stringData : {}).map(
    ([name, value]) => [name, Buffer.from(String(value)).toString('base64')] as const,
  );
  if (more.length > 0) rest.data = { ...(rest.data as JsonObject), ...Object.fromEntries(more) };
  return { type: 'Opaque', ...rest };
}

/** The name of a new object: from its path, its metadata, or made from `generateName`. */
export function newName(kind: ResourceKind, given: string, meta: Meta): string {
  const { generateName } = meta;
  const generated = generateName === undefined ? '' : `${generateName}${randomUUID().slice(0, 5)}`;
  const name = (given || meta.name) ?? generated;
  if (name === '')
    throw invalid(kind.kind, '', 'metadata.name', 'Required value: name or generateName is required');
  if (!NAME.test(name)) throw invalid(kind.kind, name, 'metadata.name', `Invalid value: "${name}"`);
  if (meta.resourceVersion) {
    // The real API server answers so too, and not with a 400.
    throw new ApiFailure(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
  }
  return name;
}

export function firstVersion(
  { kind, hasStatus, generations }: ServedKind,
  { namespace, name }: Where,
  body: JsonObject,
  time: string,
): JsonObject {
  const { status: _, ...withoutStatus } = body;
  return normal({
    ...(hasStatus ? withoutStatus : body),
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      ...(body.metadata as JsonObject),
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: randomUUID(),
      creationTimestamp: time,
      ...(generations ? { generation: 1 } : {}),
    },
  });
}

const specOf = ({ metadata, status, apiVersion, kind, ...spec }: JsonObject): JsonObject => spec;

/** `body` in the place of `before`, without what its path may not change. */
export function nextVersion(
  { kind, custom, hasStatus, generations }: ServedKind,
  before: JsonObject,
  body: JsonObject,
  subresource: string,
): JsonObject {
  const old = before.metadata as JsonObject;
  const onlyStatus = subresource === 'status';
  const given = (onlyStatus && custom ? old : (body.metadata ?? {})) as JsonObject;
  const fixed = FIXED.flatMap((name) => (old[name] === undefined ? [] : [[name, old[name]] as const]));
  const { status: newStatus, ...newRest } = body;
  const { status: oldStatus, metadata: _, ...oldRest } = before;
  const status = onlyStatus || !hasStatus ? newStatus : oldStatus;
  const after = normal({
    ...(onlyStatus ? oldRest : newRest),
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { ...given, ...Object.fromEntries(fixed) },
    ...(status === undefined ? {} : { status }),
  });
  if (!generations || onlyStatus || sameJson(specOf(before), specOf(after))) return after;
  const generation = Number(old.generation ?? 0) + 1;
  return { ...after, metadata: { ...(after.metadata as JsonObject), generation } };
}

/** Throws a conflict when `given` names another uid or version than the object has. */
export function mustMatch({ plural }: ResourceKind, name: string, current: JsonObject, given: Meta): void {
  const { uid, resourceVersion } = metaOf(current);
  if (given.uid !== undefined && given.uid !== uid) {
    const why = `Precondition failed: UID in precondition: ${given.uid}, UID in object meta: ${uid}`;
    throw conflict(plural, name, why);
  }
  if (given.resourceVersion && given.resourceVersion !== resourceVersion)
    throw conflict(plural, name, MODIFIED);
}

/** Equal but for versions and times: such a write makes no new version. */
export function isUnchanged(stored: Stored, next: Stored): boolean {
  const content = ({ object }: Stored): JsonObject => {
    const { resourceVersion, managedFields, ...metadata } = object.metadata as JsonObject;
    return { ...object, metadata };
  };
  const owned = ({ owners }: Stored): string =>
    JSON.stringify(
      owners.map(({ manager, operation, subresource, leaves }) => [
        manager,
        operation,
        subresource,
        [...leaves].sort(),
      ]),
    );
  return sameJson(content(stored), content(next)) && owned(stored) === owned(next);
}
