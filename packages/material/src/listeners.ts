type Listener<E> = (event: E) => void;

const throwLater = (error: unknown): void =>
  queueMicrotask(() => {
    throw error;
  });

/** Typed listeners. A listener that throws never stops the emitter; by default it causes an uncaught exception of its own. */
export class Listeners<Events extends object> {
  /** The listeners of each event, and whether each is called once only. */
  readonly #byName = new Map<keyof Events, Map<Listener<never>, boolean>>();
  readonly #threw: ((error: unknown, name: keyof Events) => void) | undefined;

  /** `threw` also hears of a listener that returns a promise which rejects. */
  constructor(threw?: (error: unknown, name: keyof Events) => void) {
    this.#threw = threw;
  }

  /** Returns a function that removes the listener. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>, once = false): () => void {
    const listeners = this.#byName.get(name) ?? new Map<Listener<never>, boolean>();
    this.#byName.set(name, listeners);
    listeners.set(listener, once);
    return () => void listeners.delete(listener);
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    this.#byName.get(name)?.delete(listener);
  }

  count(name: keyof Events): number {
    return this.#byName.get(name)?.size ?? 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const [listener, once] of [...(this.#byName.get(name) ?? [])]) {
      if (once) this.#byName.get(name)?.delete(listener);
      try {
        const returned: unknown = (listener as (event: Events[Name]) => unknown)(event);
        if (returned instanceof Promise && this.#threw !== undefined) {
          returned.catch((error) => this.#threw?.(error, name));
        }
      } catch (error) {
        if (this.#threw === undefined) throwLater(error);
        else this.#threw(error, name);
      }
    }
  }
}
