import { ApiFailure } from './api-failure.ts';
import { isObject, type Json, type JsonObject, sameJson } from './json.ts';

/**
 * Server-side apply, as far as tests need it: owners by leaf, conflicts, removal of fields that are no longer applied. A list is
 * one leaf, except for the lists in this table: the API's schema merges them by key.
 */
const KEYED: Readonly<Record<string, string>> = {
  conditions: 'type',
  containers: 'name',
  env: 'name',
  initContainers: 'name',
  ownerReferences: 'uid',
  volumeMounts: 'mountPath',
  volumes: 'name',
  webhooks: 'name',
};
/** Lists of plain values that are sets. */
const SETS = new Set(['finalizers']);

/** One step into an object, as FieldsV1 writes it: `f:name`, `k:{"name":"x"}`, `v:"x"`. */
type Path = readonly string[];

const itemKey = (list: string, item: Json): string | undefined => {
  const key = KEYED[list];
  if (SETS.has(list) && typeof item === 'string') return `v:${JSON.stringify(item)}`;
  if (key === undefined || !isObject(item) || item[key] === undefined) return undefined;
  return `k:${JSON.stringify({ [key]: item[key] })}`;
};

const keysOf = (name: string, list: readonly Json[]): readonly string[] | undefined => {
  const keys = list.map((item) => itemKey(name, item));
  return list.length > 0 && keys.every((key) => key !== undefined) ? (keys as string[]) : undefined;
};

/** Every leaf with its path. */
export function leavesOf(value: Json, path: Path = [], out = new Map<string, Json>()): Map<string, Json> {
  const name = path.at(-1)?.replace(/^f:/, '') ?? '';
  if (isObject(value) && (Object.keys(value).length > 0 || path.length === 0)) {
    for (const [key, child] of Object.entries(value)) leavesOf(child, [...path, `f:${key}`], out);
    return out;
  }
  const keys = Array.isArray(value) ? keysOf(name, value) : undefined;
  if (Array.isArray(value) && keys !== undefined) {
    value.forEach((item, index) => {
      const key = keys[index] ?? '';
      if (key.startsWith('v:')) out.set(JSON.stringify([...path, key]), item);
      else leavesOf(item, [...path, key], out);
    });
    return out;
  }
  out.set(JSON.stringify(path), value);
  return out;
}

function removeLeaf(value: Json, path: Path): void {
  const [head, ...rest] = path;
  if (head === undefined || !isObject(value) || !head.startsWith('f:')) return;
  const name = head.slice(2);
  const child = value[name];
  if (rest.length === 0) {
    delete value[name];
    return;
  }
  if (child === undefined) return;
  if (Array.isArray(child)) {
    const index = child.findIndex((item) => itemKey(name, item) === rest[0]);
    if (index < 0) return;
    const item = child[index] as Json;
    if (rest.length > 1) removeLeaf(item, rest.slice(1));
    const key = KEYED[name] ?? '';
    const bare = isObject(item) && Object.keys(item).every((one) => one === key);
    if (rest.length === 1 || bare) child.splice(index, 1);
    if (child.length === 0) delete value[name];
    return;
  }
  removeLeaf(child, rest);
  if (isObject(child) && Object.keys(child).length === 0) delete value[name];
}

function mergeInto(target: Json | undefined, applied: Json, name: string): Json {
  if (isObject(applied)) {
    const merged: JsonObject = isObject(target) ? { ...target } : {};
    for (const [key, child] of Object.entries(applied)) merged[key] = mergeInto(merged[key], child, key);
    return merged;
  }
  const keys = Array.isArray(applied) ? keysOf(name, applied) : undefined;
  if (!Array.isArray(applied) || keys === undefined || !Array.isArray(target)) return applied;
  const merged = [...target];
  applied.forEach((item, index) => {
    const at = merged.findIndex((one) => itemKey(name, one) === keys[index]);
    if (at < 0) merged.push(item);
    else merged[at] = mergeInto(merged[at], item, '');
  });
  return merged;
}

export interface Owner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
  readonly time: string;
  readonly leaves: ReadonlySet<string>;
}

export interface Applied {
  readonly object: JsonObject;
  readonly owners: readonly Owner[];
}

const UNOWNED = [
  '["f:apiVersion"]',
  '["f:kind"]',
  '["f:metadata","f:name"]',
  '["f:metadata","f:namespace"]',
  '["f:metadata","f:uid"]',
  '["f:metadata","f:resourceVersion"]',
  '["f:metadata","f:creationTimestamp"]',
  '["f:metadata","f:generation"]',
  '["f:metadata","f:managedFields"]',
  '["f:metadata","f:generateName"]',
  '["f:metadata","f:deletionTimestamp"]',
  '["f:metadata","f:deletionGracePeriodSeconds"]',
];

export function ownable(object: JsonObject): Map<string, Json> {
  const leaves = leavesOf(object);
  for (const path of UNOWNED) leaves.delete(path);
  return leaves;
}

const readable = (path: string): string =>
  (JSON.parse(path) as string[])
    .map((part) => part.replace(/^f:/, '.'))
    .join('')
    .replace(/k:(\{[^}]*\})/g, '[$1]');

export function apply(
  current: JsonObject | undefined,
  owners: readonly Owner[],
  applied: JsonObject,
  by: {
    readonly manager: string;
    readonly force: boolean;
    readonly subresource: string;
    readonly time: string;
  },
): Applied {
  const isMine = (owner: Owner) =>
    owner.manager === by.manager && owner.operation === 'Apply' && owner.subresource === by.subresource;
  const wanted = ownable(applied);
  const existing = current === undefined ? new Map<string, Json>() : ownable(current);
  const contested = [...wanted].flatMap(([path, value]) =>
    existing.has(path) && !sameJson(existing.get(path), value)
      ? owners.filter((owner) => !isMine(owner) && owner.leaves.has(path)).map((owner) => ({ path, owner }))
      : [],
  );
  if (contested.length > 0 && !by.force) {
    const causes = contested.map(({ path, owner }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with "${owner.manager}"`,
      field: readable(path),
    }));
    const words = causes.map(({ message, field }) => `${message}: ${field}`).join(', ');
    throw new ApiFailure(409, 'Conflict', `Apply failed with ${causes.length} conflict(s): ${words}`, {
      causes,
    });
  }
  const object = mergeInto(structuredClone(current ?? {}), applied, '') as JsonObject;
  const others = owners
    .filter((owner) => !isMine(owner))
    .map((owner) => ({
      ...owner,
      leaves: new Set([...owner.leaves].filter((path) => !contested.some((one) => one.path === path))),
    }));
  const mine = owners.find(isMine);
  for (const path of mine?.leaves ?? []) {
    // What was applied empty has something in it now.
    const isFilled = [...wanted.keys()].some((one) => one.startsWith(`${path.slice(0, -1)},`));
    if (!wanted.has(path) && !isFilled && !others.some(({ leaves }) => leaves.has(path))) {
      removeLeaf(object, JSON.parse(path) as string[]);
    }
  }
  const now: Owner = { ...by, operation: 'Apply', leaves: new Set(wanted.keys()) };
  return { object, owners: [...others.filter(({ leaves }) => leaves.size > 0), now] };
}

/** Ownership after an update or another patch: the writer owns every leaf it changed. */
export function claim(
  before: JsonObject | undefined,
  after: JsonObject,
  owners: readonly Owner[],
  by: { readonly manager: string; readonly subresource: string; readonly time: string },
): readonly Owner[] {
  const old = before === undefined ? new Map<string, Json>() : ownable(before);
  const now = ownable(after);
  const changed = new Set(
    [...now].filter(([path, value]) => !sameJson(old.get(path), value)).map(([p]) => p),
  );
  const isMine = (owner: Owner) =>
    owner.manager === by.manager && owner.operation === 'Update' && owner.subresource === by.subresource;
  const kept = owners
    .map((owner) => ({
      ...owner,
      leaves: new Set(
        [...owner.leaves].filter((path) => now.has(path) && (isMine(owner) || !changed.has(path))),
      ),
    }))
    .filter(({ leaves }) => leaves.size > 0);
  if (changed.size === 0) return kept;
  const mine = kept.find(isMine);
  const leaves = new Set([...(mine?.leaves ?? []), ...changed]);
  return [...kept.filter((owner) => !isMine(owner)), { ...by, operation: 'Update', leaves }];
}

/** As `metadata.managedFields`. */
export function managedFieldsOf(owners: readonly Owner[], apiVersion: string): Json[] {
  return owners.map(({ manager, operation, subresource, time, leaves }) => {
    const fieldsV1: JsonObject = {};
    for (const leaf of leaves) {
      let at = fieldsV1;
      for (const part of JSON.parse(leaf) as string[]) {
        const next = (at[part] as JsonObject | undefined) ?? {};
        at[part] = next;
        at = next;
      }
    }
    return {
      manager,
      operation,
      apiVersion,
      time,
      fieldsType: 'FieldsV1',
      fieldsV1,
      ...(subresource === '' ? {} : { subresource }),
    };
  });
}
