import type { Loaded } from './follower-spec.ts';
import type { KeptEvent } from './outcome.ts';

/** Which material is in use everywhere. A server or a context may refuse the newest: the one before it then stays in use. */
export class InUse<Value> {
  #refusal: KeptEvent | undefined;
  readonly #refusers = new Set<object>();
  #last: Loaded<Value> | undefined;
  /** Set while a swap is under way. */
  #replaced: Loaded<Value> | undefined;

  /** Why the newest is not in use. */
  get refusal(): KeptEvent | undefined {
    return this.#refusal;
  }

  /** The material before the newest, when that was refused. */
  get last(): Loaded<Value> | undefined {
    return this.#last;
  }

  /** Swaps; whatever is refused meanwhile leaves `before` in use. */
  during(before: Loaded<Value> | undefined, swap: () => void): void {
    this.#refusal = undefined;
    this.#refusers.clear();
    this.#replaced = before;
    swap();
    this.#replaced = undefined;
    if (this.#refusal === undefined) this.settled();
  }

  refuse(event: KeptEvent | undefined, by: object = this): void {
    this.#refusal = event;
    this.#refusers.add(by);
    this.#last ??= this.#replaced;
  }

  /** One that may have refused the newest uses it now, or is gone. */
  taken(by: object): void {
    if (this.#refusers.delete(by) && this.#refusers.size === 0) this.settled();
  }

  /** Takes refusals back: the newest is in use everywhere. */
  settled(): void {
    this.#refusers.clear();
    this.#refusal = undefined;
    this.#last = undefined;
  }
}
