import type { KeptEvent } from '../outcome.ts';
import type { Loaded } from './follower-spec.ts';

/** Which material is in use everywhere. A server or a context may refuse the newest: what it took last then stays in use. */
export class InUse<Value> {
  #refusal: KeptEvent | undefined;
  /** Those that refuse the newest, and what each of them uses instead. */
  readonly #refusers = new Map<object, Loaded<Value> | undefined>();
  /** What each server took last; a server that was closed may listen again with it. */
  readonly #took = new WeakMap<object, Loaded<Value>>();
  /** Both are set while a swap is under way. */
  #replaced: Loaded<Value> | undefined;
  #refusedBefore: ReadonlyMap<object, Loaded<Value> | undefined> = new Map();

  /** Why the newest is not in use. */
  get refusal(): KeptEvent | undefined {
    return this.#refusal;
  }

  /** The oldest material that is still in use, when the newest was refused. */
  get last(): Loaded<Value> | undefined {
    const used = [...this.#refusers.values()].filter((one) => one !== undefined);
    return used.sort((a, b) => a.loads - b.loads)[0];
  }

  /** Swaps; what refuses meanwhile goes on with what it took last, or else with `before`. */
  during(before: Loaded<Value> | undefined, swap: () => void): void {
    const refused = new Map(this.#refusers);
    this.settled();
    this.#replaced = before;
    this.#refusedBefore = refused;
    swap();
    this.#replaced = undefined;
    this.#refusedBefore = new Map();
  }

  refuse(event: KeptEvent | undefined, by: object = this): void {
    this.#refusal = event;
    const known = this.#refusers.get(by) ?? this.#took.get(by) ?? this.#refusedBefore.get(by);
    this.#refusers.set(by, known ?? this.#replaced);
  }

  /** It uses this material now. */
  taken(by: object, loaded: Loaded<Value>): void {
    this.#took.set(by, loaded);
    this.gone(by);
  }

  /** One that may have refused the newest is closed. */
  gone(by: object): void {
    if (this.#refusers.delete(by) && this.#refusers.size === 0) this.settled();
  }

  /** Takes refusals back: the newest is in use everywhere. */
  settled(): void {
    this.#refusers.clear();
    this.#refusal = undefined;
  }
}
