import type { KubeObject } from '@handover/kube';

/** What every part costs beside its contents, roughly as V8 has it. */
const PART = 16;

/** Bytes that a value takes in memory, roughly; infinite as soon as they are more than `most`. */
export const sizeOf = (value: unknown, most = Number.POSITIVE_INFINITY): number => {
  let size = 0;
  const parts: unknown[] = [value];
  while (parts.length > 0) {
    const part = parts.pop();
    size += PART;
    if (typeof part === 'string') size += part.length;
    else if (part instanceof Uint8Array) size += part.byteLength;
    else if (part instanceof Set) parts.push(...few(part, most, size));
    else if (part instanceof Map)
      parts.push(...few(part.keys(), most, size), ...few(part.values(), most, size));
    else if (typeof part === 'object' && part !== null)
      for (const [name, inner] of Object.entries(part)) {
        size += PART + (Array.isArray(part) ? 0 : name.length);
        if (size > most) return Number.POSITIVE_INFINITY;
        parts.push(inner);
      }
    if (size > most) return Number.POSITIVE_INFINITY;
  }
  return size;
};

/** No more of them than it takes to be over the bound: a call takes a limited number of arguments. */
const few = (items: Iterable<unknown>, most: number, size: number): readonly unknown[] => {
  const found: unknown[] = [];
  const left = Math.min(50_000, (most - size) / PART + 1);
  for (const item of items) {
    if (found.length > left) break;
    found.push(item);
  }
  return found;
};

interface ProjectionOptions<O extends KubeObject, Kept> {
  /** What is kept of an object, each part of it with a bound; undefined: nothing. `part`: of the object, where only some of it is asked for. */
  readonly keep: (object: O, part: string) => Kept | undefined;
  /** Whether it is kept while less than a quarter of its namespace's share is left: pods must not keep a Leaf from its Secret. */
  readonly essential?: true;
  /** Bytes that are kept of one object at most. Default: 16 KiB. */
  readonly most?: number;
  /**
   * What stands for an object that there is no room for, where it may not count as absent: nothing in it may be evidence. Undefined: its
   * namespace is known to have objects that are not known (`Watched.unknown`).
   */
  readonly shell?: (object: O) => Kept;
}

const MOST = 16_384;
const OF_SHARE = 0.75;
const all = new Map<string, Projection<never, unknown>>();

/**
 * The part of an API object that is kept. Objects of the API server enter the memory of the operator through such a projection alone: `Watched`
 * and `listed` take nothing else, and keep nothing that is over its bound.
 */
export class Projection<O extends KubeObject, Kept> {
  /** In messages. */
  readonly name: string;
  readonly most: number;
  /** The part of its namespace's share that it may fill. */
  readonly ofShare: number;
  readonly #options: ProjectionOptions<O, Kept>;

  constructor(name: string, options: ProjectionOptions<O, Kept>) {
    this.name = name;
    this.most = options.most ?? MOST;
    this.ofShare = options.essential === true ? 1 : OF_SHARE;
    this.#options = options;
    all.set(name, this);
  }

  keep(object: O, part = ''): Kept | undefined {
    return this.#options.keep(object, part);
  }

  shell(object: O): Kept | undefined {
    return this.#options.shell?.(object);
  }
}

/** Every projection that a loaded module has. A test feeds each of them with objects of 1.5 MB. */
export const projections = (): ReadonlyMap<string, Projection<never, unknown>> => all;
