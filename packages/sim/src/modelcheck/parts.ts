import type { State } from './model.ts';

/** One of all equal parts of states, and its number. */
interface Part {
  readonly id: number;
  readonly value: object;
}

type Parts = Readonly<Record<string, object>>;

/** Fields whose members are parts themselves. */
const RECORDS: readonly string[] = ['objects', 'leaves', 'consumers'] satisfies (keyof State)[];

/**
 * Names the states of a world, and lets them share their equal parts. A state has most parts from its predecessor, and each part turns up in many
 * states: it is serialised once, kept once, and has a number from then on. Numbers of its parts name a state.
 */
export class SharedParts {
  readonly #known = new WeakMap<object, Part>();
  readonly #byText = new Map<string, Part>();

  /** Equal states, and no others, have the same name. */
  nameOf(state: State): string {
    const names: string[] = [];
    for (const [field, value] of Object.entries(state))
      if (value !== undefined) names.push(`${field}${this.#idIn(field, value)}`);
    return names.join();
  }

  /** An equal state, of parts that other states also have. */
  shared(state: State): State {
    return {
      ...state,
      ...(state.authority && { authority: this.#share(state.authority) }),
      objects: this.#shareAll(state.objects),
      leaves: this.#shareAll(state.leaves),
      consumers: this.#shareAll(state.consumers),
      controllers: state.controllers.map((deeds) => this.#share(deeds)),
    };
  }

  #idIn(field: string, value: unknown): string | number {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
    if (RECORDS.includes(field)) return this.#partOfAll(value as Parts).id;
    if (Array.isArray(value)) return value.map((each) => this.#idIn('', each)).join('+');
    return this.#part(value).id;
  }

  #share<T extends object>(value: T): T {
    return this.#part(value).value as T;
  }

  #shareAll<T extends object>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
    return this.#partOfAll(record).value as Readonly<Record<string, T>>;
  }

  #part(value: object): Part {
    return this.#known.get(value) ?? this.#add(value, JSON.stringify(value), () => value);
  }

  /** A move changes few members of a record. */
  #partOfAll(record: Parts): Part {
    const known = this.#known.get(record);
    if (known !== undefined) return known;
    const members = Object.keys(record).map((name) => [name, this.#part(record[name] ?? {})] as const);
    const text = members
      .map(([name, { id }]) => `${name}:${id}`)
      .sort()
      .join();
    return this.#add(record, text, () =>
      Object.fromEntries(members.map(([name, { value }]) => [name, value])),
    );
  }

  #add(value: object, text: string, shared: () => object): Part {
    let part = this.#byText.get(text);
    if (part === undefined) {
      part = { id: this.#byText.size, value: shared() };
      this.#byText.set(text, part);
      this.#known.set(part.value, part);
    }
    this.#known.set(value, part);
    return part;
  }
}
