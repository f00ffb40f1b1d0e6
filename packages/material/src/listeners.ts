type Listener<E> = (event: E) => void;

/** Typed listeners. A listener that throws causes an uncaught exception of its own and never stops the emitter. */
export class Listeners<Events extends object> {
  readonly #byName = new Map<keyof Events, Set<Listener<never>>>();

  /** Returns a function that removes the listener. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const set = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, set);
    set.add(listener);
    return () => void set.delete(listener);
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    this.#byName.get(name)?.delete(listener);
  }

  count(name: keyof Events): number {
    return this.#byName.get(name)?.size ?? 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        (listener as Listener<Events[Name]>)(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
