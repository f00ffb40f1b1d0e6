/** Results by key, emptied when there would be more than `most`. A promise that is rejected is not kept. */
export class Memo<Value> {
  readonly #most: number;
  readonly #known = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string, make: () => Value): Value {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (this.#known.size >= this.#most) this.#known.clear();
    this.#known.set(key, made);
    if (made instanceof Promise) made.catch(() => this.#known.delete(key));
    return made;
  }
}
