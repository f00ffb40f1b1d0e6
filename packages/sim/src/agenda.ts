interface Entry {
  readonly at: number;
  readonly order: number;
  readonly act: () => void;
}

/** Future events, earliest first; equal times in the order of their addition. A binary heap. */
export class Agenda {
  readonly #heap: Entry[] = [];
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  add(at: number, act: () => void): void {
    const heap = this.#heap;
    const entry: Entry = { at, order: this.#order++, act };
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const up = (index - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !before(entry, parent)) break;
      heap[index] = parent;
      index = up;
    }
    heap[index] = entry;
  }

  take(): { readonly at: number; readonly act: () => void } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let index = 0;
    for (;;) {
      let down = 2 * index + 1;
      let child = heap[down];
      const other = heap[down + 1];
      if (child === undefined) break;
      if (other !== undefined && before(other, child)) {
        child = other;
        down++;
      }
      if (!before(child, last)) break;
      heap[index] = child;
      index = down;
    }
    heap[index] = last;
    return first;
  }
}

const before = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
