export interface StoreChange<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export type Indexes<T> = Readonly<Record<string, (value: T) => readonly string[]>>;

interface Entry<T> {
  readonly version: string;
  readonly value: T;
}

/** Projected objects by key, and by the given indexes. */
export class Store<T> {
  readonly #indexers: readonly (readonly [string, (value: T) => readonly string[]])[];
  readonly #indexes = new Map<string, Map<string, Set<string>>>();
  #entries = new Map<string, Entry<T>>();

  constructor(indexes: Indexes<T> = {}) {
    this.#indexers = Object.entries(indexes);
    for (const [name] of this.#indexers) this.#indexes.set(name, new Map());
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  /** The object, where it is still of this version. */
  unchanged(key: string, version: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry?.version === version ? entry.value : undefined;
  }

  keys(): string[] {
    return [...this.#entries.keys()];
  }

  list(): T[] {
    return Array.from(this.#entries.values(), ({ value }) => value);
  }

  has(index: string): boolean {
    return this.#indexes.has(index);
  }

  by(index: string, value: string): T[] {
    const found: T[] = [];
    for (const key of this.#indexes.get(index)?.get(value) ?? []) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) found.push(entry.value);
    }
    return found;
  }

  versionOf(key: string): string | undefined {
    return this.#entries.get(key)?.version;
  }

  /** `value` undefined: removes the object. Returns the change, if there is one. An object of the same version stays as it is, unless `again`. */
  set(key: string, version: string, value: T | undefined, again = false): StoreChange<T> | undefined {
    const old = this.#entries.get(key);
    if (old === undefined && value === undefined) return undefined;
    if (!again && old !== undefined && value !== undefined && old.version === version) return undefined;
    if (old !== undefined) this.#unindex(key, old.value);
    if (value === undefined) this.#entries.delete(key);
    else {
      this.#entries.set(key, { version, value });
      this.#index(key, value);
    }
    return { key, before: old?.value, after: value };
  }

  #index(key: string, value: T): void {
    for (const [name, values] of this.#indexers) {
      const index = this.#indexes.get(name);
      for (const one of values(value)) {
        const keys = index?.get(one) ?? new Set<string>();
        keys.add(key);
        index?.set(one, keys);
      }
    }
  }

  #unindex(key: string, value: T): void {
    for (const [name, values] of this.#indexers) {
      const index = this.#indexes.get(name);
      for (const one of values(value)) {
        const keys = index?.get(one);
        keys?.delete(key);
        if (keys?.size === 0) index?.delete(one);
      }
    }
  }
}
