import type { Clock, Timer } from './clock.ts';
import { type Instant, instant } from './time.ts';

interface Entry {
  readonly at: number;
  readonly order: number;
  act: (() => void) | undefined;
}

const before = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** A clock that stands still until it is turned. Calls that are due at the same time come in the order in which they were asked for. */
export class VirtualClock implements Clock {
  /** A binary heap, earliest first. */
  readonly #heap: Entry[] = [];
  #order = 0;
  #elapsed: number;
  /** By how much the wall clock was set. */
  #offset = 0;

  constructor(start: Instant = instant(0)) {
    this.#elapsed = start;
  }

  now(): Instant {
    return instant(this.#offset + this.#elapsed);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  /** Sets the wall clock. Timers do not notice. */
  set(now: Instant): void {
    this.#offset = now - this.#elapsed;
  }

  /** Time goes by and no call is made, as for a process that is stopped: what was due meanwhile comes with the next step. */
  stall(ms: number): void {
    this.#elapsed += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const end = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = this.after(ms, end);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  after(ms: number, act: () => void): Timer {
    return this.#timer(Math.max(0, ms), act);
  }

  every(ms: number, act: () => void): Timer {
    const timer = this.#timer(Math.max(1, ms), () => {
      timer.refresh();
      act();
    });
    return timer;
  }

  timeout(ms: number): AbortSignal {
    const controller = new AbortController();
    this.after(ms, () =>
      controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
    );
    return controller.signal;
  }

  /** Milliseconds until the next call is due; undefined: none is waiting. */
  get next(): number | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.act !== undefined) return Math.max(0, first.at - this.#elapsed);
      this.#take();
    }
    return undefined;
  }

  /** Moves on to the next call within `ms` and makes it. False: none is due by then, and the clock has moved on by `ms`. */
  step(ms: number = Number.POSITIVE_INFINITY): boolean {
    const next = this.next;
    if (next === undefined || next > ms) {
      if (Number.isFinite(ms)) this.#elapsed += ms;
      return false;
    }
    const { at, act } = this.#take() as Entry;
    this.#elapsed = Math.max(this.#elapsed, at);
    act?.();
    return true;
  }

  #timer(ms: number, act: () => void): Timer {
    let entry = this.#add(ms, act);
    // Cancelled entries stay in the heap until their time, without a call.
    const cancel = (): void => {
      entry.act = undefined;
    };
    return {
      cancel,
      refresh: () => {
        cancel();
        entry = this.#add(ms, act);
      },
      unref() {
        return this;
      },
    };
  }

  #add(ms: number, act: () => void): Entry {
    const heap = this.#heap;
    const entry: Entry = { at: this.#elapsed + ms, order: this.#order++, act };
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
    return entry;
  }

  #take(): Entry | undefined {
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
