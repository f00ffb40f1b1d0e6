type Listener<E> = (event: E) => void;

/** Typed listeners. One that throws ends as an uncaught exception of its own, and never stops who called it. */
export class Listeners<Events extends object> {
  readonly #byName = new Map<keyof Events, Set<Listener<never>>>();

  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    const known = this.#byName.get(name) ?? new Set();
    known.add(listener);
    this.#byName.set(name, known);
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    this.#byName.get(name)?.delete(listener);
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#byName.get(name) ?? []) {
      try {
        (listener as Listener<Events[Name]>)(event);
      } catch (error) {
        process.nextTick(() => {
          throw error;
        });
      }
    }
  }
}
