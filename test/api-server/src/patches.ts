import { badRequest, invalid } from './api-failure.ts';
import { isObject, type Json, type JsonObject, sameJson } from './json.ts';

/** RFC 7396. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

export interface PatchStep {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

const partsOf = (pointer: string): string[] =>
  pointer === ''
    ? []
    : pointer
        .slice(1)
        .split('/')
        .map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'));

const missing = (path: string) => invalid('Patch', path, path, 'the path does not exist');

function find(root: Json, parts: readonly string[], path: string): Json {
  let at: Json = root;
  for (const part of parts) {
    const next: Json | undefined = Array.isArray(at) ? at[Number(part)] : isObject(at) ? at[part] : undefined;
    if (next === undefined) throw missing(path);
    at = next;
  }
  return at;
}

function put(root: Json, path: string, value: Json, replace: boolean): void {
  const parts = partsOf(path);
  const last = parts.pop();
  if (last === undefined) throw badRequest('a patch cannot replace the whole object here');
  const parent = find(root, parts, path);
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    if (!(index >= 0 && index <= parent.length)) throw missing(path);
    parent.splice(index, replace ? 1 : 0, value);
  } else if (isObject(parent)) {
    if (replace && parent[last] === undefined) throw missing(path);
    parent[last] = value;
  } else throw missing(path);
}

function remove(root: Json, path: string): void {
  const parts = partsOf(path);
  const last = parts.pop() ?? '';
  const parent = find(root, parts, path);
  if (Array.isArray(parent) && parent[Number(last)] !== undefined) parent.splice(Number(last), 1);
  else if (isObject(parent) && parent[last] !== undefined) delete parent[last];
  else throw missing(path);
}

/** RFC 6902. */
export function jsonPatch(target: Json, steps: readonly PatchStep[]): Json {
  const root = structuredClone(target);
  for (const { op, path, from = '', value = null } of steps) {
    switch (op) {
      case 'add':
        put(root, path, value, false);
        break;
      case 'replace':
        put(root, path, value, true);
        break;
      case 'remove':
        remove(root, path);
        break;
      case 'test':
        if (!sameJson(find(root, partsOf(path), path), value)) {
          throw invalid('Patch', path, path, 'testing the value failed');
        }
        break;
      case 'copy':
        put(root, path, structuredClone(find(root, partsOf(from), from)), false);
        break;
      case 'move': {
        const moved = find(root, partsOf(from), from);
        remove(root, from);
        put(root, path, moved, false);
        break;
      }
      default:
        throw badRequest(`"${op}" is not a JSON patch operation`);
    }
  }
  return root;
}
