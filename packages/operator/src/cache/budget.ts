import { getHeapStatistics } from 'node:v8';
import { MANAGED_LABEL } from '@handover/core';

const MIB = 1_024 * 1_024;
/** Of the heap, for all that is kept of objects in namespaces: the same is in memory twice while a fresh list is compared. */
const OF_HEAP = 0.3;
/** As the Deployment of `handover install` limits the heap, no namespace needs more; larger clusters get a larger heap. */
const LEAST_SHARE = 8 * MIB;
const SHARES = 6;
/** What namespaces have that no Authority serves, of the others' share and of the whole. */
const STRANGERS = 16;

/** Of an object, in words. */
export const OVER_SHARE = `its namespace takes more than its share of the operator’s memory; remove objects there that are not needed: Secrets and ConfigMaps labelled ${MANAGED_LABEL}, Leaves, Certificates, pods`;

export interface BudgetOptions {
  /** Bytes for the objects of all namespaces. Default: by the limit of the heap. */
  readonly whole?: number;
  /** Bytes for those of one namespace that is served. Default: a sixth of it, and no less than 8 MiB. */
  readonly share?: number;
  /** Whether nothing is kept before `serve` has said which namespaces are served. Default: all are, until then. */
  readonly waits?: boolean;
  /** A namespace has gone over its share, for the first time or after it was within it. */
  readonly onOver?: ((namespace: string) => void) | undefined;
}

/** Namespaces that share what there is. */
class Pool {
  readonly #whole: number;
  readonly #share: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(whole: number, share: number) {
    this.#whole = whole;
    this.#share = share;
  }

  taken(namespace: string): number {
    return this.#taken.get(namespace) ?? 0;
  }

  add(namespace: string, bytes: number): void {
    const now = this.taken(namespace) + bytes;
    if (now > 0) this.#taken.set(namespace, now);
    else this.#taken.delete(namespace);
    this.#all += bytes;
  }

  /** When the whole is used up, each namespace still gets as much as if all had the same. */
  hasRoom(namespace: string, bytes: number, ofShare: number): boolean {
    const wanted = this.taken(namespace) + bytes;
    if (wanted > this.#share * ofShare) return false;
    const namespaces = this.#taken.size + (this.#taken.has(namespace) ? 0 : 1);
    return this.#all + bytes <= this.#whole || wanted <= this.#whole / namespaces;
  }
}

/**
 * Room in memory for what is kept of the objects of namespaces, for each namespace apart: an account that may write in one must not use up what
 * the others need. Cluster-scoped objects are the administrators', and are not counted.
 */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #served: Pool;
  readonly #strangers: Pool;
  #serves: (namespace: string) => boolean = () => true;
  /** What waits for the first word on which namespaces are served; undefined: that was said. */
  #waiting: (() => void)[] | undefined;
  /** Namespaces that were refused something, and that are within their share again when nothing is refused any more. */
  readonly #over = new Map<string, Set<object>>();
  readonly #listeners = new Set<(namespace: string) => void>();

  constructor(options: BudgetOptions = {}) {
    this.#options = options;
    const whole = options.whole ?? getHeapStatistics().heap_size_limit * OF_HEAP;
    const share = options.share ?? Math.max(LEAST_SHARE, whole / SHARES);
    this.#served = new Pool(whole, share);
    this.#strangers = new Pool(whole / STRANGERS, share / STRANGERS);
    this.#waiting = options.waits === true ? [] : undefined;
  }

  /** The same limits for what one pass keeps, on its own. */
  another(): Budget {
    const { whole, share } = this.#options;
    const budget = new Budget({
      ...(whole === undefined ? {} : { whole }),
      ...(share === undefined ? {} : { share }),
    });
    budget.#serves = this.#serves;
    return budget;
  }

  /** From now on these namespaces are served by an Authority. */
  serve(namespaces: ReadonlySet<string>): void {
    const before = this.#serves;
    const moved = [...this.#known].filter((namespace) => before(namespace) !== namespaces.has(namespace));
    const bytes = moved.map((namespace) => this.#pool(namespace).taken(namespace));
    for (const [index, namespace] of moved.entries())
      this.#pool(namespace).add(namespace, -(bytes[index] ?? 0));
    this.#serves = (namespace) => namespaces.has(namespace);
    for (const [index, namespace] of moved.entries()) {
      this.#pool(namespace).add(namespace, bytes[index] ?? 0);
      this.#tell(namespace);
    }
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const begin of waiting) begin();
  }

  whenOpen(begin: () => void): void {
    if (this.#waiting === undefined) begin();
    else this.#waiting.push(begin);
  }

  /** Namespaces that something was charged to, or refused. */
  readonly #known = new Set<string>();

  #pool(namespace: string): Pool {
    return this.#serves(namespace) ? this.#served : this.#strangers;
  }

  /** Takes `now` bytes in the place of `before`, up to this part of the share; false: there is no room for them, and none are taken. */
  charge(namespace: string, before: number, now: number, ofShare = 1): boolean {
    const pool = this.#pool(namespace);
    this.#known.add(namespace);
    const hasRoom = now <= before || pool.hasRoom(namespace, now - before, ofShare);
    pool.add(namespace, (hasRoom ? now : 0) - before);
    if (now < before) this.#tell(namespace);
    return hasRoom;
  }

  /** Whether `who` keeps objects of this namespace out, or does so no longer. */
  refused(namespace: string, who: object, isRefused: boolean): void {
    const all = this.#over.get(namespace) ?? new Set();
    if (isRefused) all.add(who);
    else all.delete(who);
    if (all.size === 0) this.#over.delete(namespace);
    else if (!this.#over.has(namespace)) {
      this.#over.set(namespace, all);
      this.#options.onOver?.(namespace);
    }
  }

  /** Namespaces that have more than their share, in order. */
  get over(): readonly string[] {
    return [...this.#over.keys()].sort();
  }

  /** Told of a namespace in which there may be room again. Returns what ends it. */
  onRoom(listener: (namespace: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(namespace: string): void {
    if (this.#over.has(namespace)) for (const listener of this.#listeners) listener(namespace);
  }
}
