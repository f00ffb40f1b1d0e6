import { minute, second } from '@handover/material';
import type { ObjectId } from '../../snapshot/home.ts';

const FIRST_MS = 15 * second;
const LONGEST_MS = 5 * minute;

interface Held {
  readonly why: string;
  readonly failures: number;
  readonly until: number;
}

/**
 * Objects that could not be written, and are left alone for a while: each attempt would issue one more certificate. The second
 * failure in a row holds an object back, and each one after it for twice as long. Counted by a clock that cannot be set.
 */
export class HoldBack {
  readonly #monotonic: () => number;
  readonly #held = new Map<ObjectId, Held>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  failed(id: ObjectId, why: string): void {
    const failures = (this.#held.get(id)?.failures ?? 0) + 1;
    const wait = failures === 1 ? 0 : Math.min(FIRST_MS * 2 ** Math.min(failures - 2, 30), LONGEST_MS);
    this.#held.set(id, { why, failures, until: this.#monotonic() + wait });
  }

  written(id: ObjectId): void {
    this.#held.delete(id);
  }

  /** Something changed that may help: all are tried again. */
  clear(): void {
    this.#held.clear();
  }

  /** Why it is left alone now; undefined: it is not. */
  reason(id: ObjectId): string | undefined {
    const held = this.#held.get(id);
    return held === undefined || this.#monotonic() >= held.until ? undefined : held.why;
  }
}
