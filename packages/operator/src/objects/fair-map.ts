/** A map with a bound that namespaces share: when it is full, the namespace with most entries loses its oldest. */
export class FairMap<V> {
  readonly #most: number;
  readonly #namespaceOf: (key: string) => string;
  readonly #byNamespace = new Map<string, Map<string, V>>();
  #size = 0;

  constructor(most: number, namespaceOf: (key: string) => string) {
    this.#most = most;
    this.#namespaceOf = namespaceOf;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#byNamespace.get(this.#namespaceOf(key))?.get(key);
  }

  /** The key becomes the newest of its namespace. */
  set(key: string, value: V): void {
    this.delete(key);
    const namespace = this.#namespaceOf(key);
    const entries = this.#byNamespace.get(namespace) ?? new Map<string, V>();
    this.#byNamespace.set(namespace, entries.set(key, value));
    this.#size++;
    if (this.#size > this.#most) this.#forgetOne();
  }

  delete(key: string): void {
    const namespace = this.#namespaceOf(key);
    const entries = this.#byNamespace.get(namespace);
    if (entries?.delete(key) !== true) return;
    this.#size--;
    if (entries.size === 0) this.#byNamespace.delete(namespace);
  }

  #forgetOne(): void {
    let largest: Map<string, V> | undefined;
    for (const entries of this.#byNamespace.values())
      if (largest === undefined || entries.size > largest.size) largest = entries;
    const [oldest] = largest?.keys() ?? [];
    if (oldest !== undefined) this.delete(oldest);
  }
}
