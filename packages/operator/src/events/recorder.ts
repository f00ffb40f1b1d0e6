import { events, type Kube } from '@handover/kube';
import { type Instant, isoSeconds, minute } from '@handover/material';
import { isCode } from '../error.ts';
import { eventOf, type Happening, namespaceOf, type Regarding } from './event.ts';

export interface RecorderOptions {
  /** Writes only while this process leads. */
  readonly kube: Kube;
  readonly identity: string;
  readonly now: () => Instant;
  readonly signal: AbortSignal;
  /** Told once, until an Event could be written again. */
  readonly onError: (what: string, error: unknown) => void;
}

/** Events about one object in a row, and how long it takes until there may be one more. */
const BURST = 25;
const REFILL_MS = minute;
/** Events that wait to be written; more are dropped. */
const MOST_WAITING = 200;
/** Of which at most so many are minor: a thousand new leaves must not keep out the Event that says what a step waits for. */
const MOST_MINOR = 50;
/** The same again within this time is counted on the Event that is there; an API server forgets Events after an hour. */
const SAME_MS = 50 * minute;
/** How often the count of an Event is brought up to date. */
const COUNT_MS = minute;
const MOST_KNOWN = 5_000;

interface Allowance {
  readonly left: number;
  readonly at: Instant;
  /** How many were left out since the last one. */
  readonly leftOut: number;
}

interface Told {
  readonly name: string;
  readonly namespace: string;
  readonly at: Instant;
  count: number;
  countedAt: Instant;
}

/** Writes Events one after the other. No work waits for an Event, and none is tried twice. */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #allowances = new Map<string, Allowance>();
  readonly #told = new Map<string, Told>();
  readonly #waiting: (() => Promise<void>)[] = [];
  #busy = false;
  #broken = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  tell(regarding: Regarding, happening: Happening): void {
    const now = this.#options.now();
    const key = `${regarding.uid} ${happening.reason} ${happening.note}`;
    const told = this.#told.get(key);
    if (told !== undefined && now < told.at + SAME_MS) {
      this.#again(told, now);
      return;
    }
    const { minor = false } = happening;
    const leftOut = this.#mayTell(regarding.uid, now, minor ? MOST_MINOR : MOST_WAITING);
    if (leftOut === undefined) return;
    const note =
      leftOut === 0
        ? happening.note
        : `${happening.note} (${leftOut} more ${leftOut === 1 ? 'Event' : 'Events'} left out)`;
    const object = eventOf(regarding, { ...happening, note }, this.#options.identity, now);
    const { name, namespace } = object.metadata;
    if (this.#told.size >= MOST_KNOWN) this.#told.clear();
    // A minor Event comes once and is not counted on.
    if (!minor) this.#told.set(key, { name, namespace, at: now, count: 1, countedAt: now });
    this.#queue(async () => {
      const { kube, signal } = this.#options;
      await kube.create(events, object, { namespace: namespaceOf(regarding), signal });
    });
  }

  /** The same once more: a count on what is there. */
  #again(told: Told, now: Instant): void {
    told.count++;
    if (now < told.countedAt + COUNT_MS) return;
    told.countedAt = now;
    const { kube, signal } = this.#options;
    const { name, namespace } = told;
    this.#queue(async () => {
      const merge = { count: told.count, lastTimestamp: isoSeconds(now) };
      await kube.patch(events, { namespace, name }, { merge, signal });
    });
  }

  /** How many Events were left out before this one; undefined: this one is left out, too. */
  #mayTell(uid: string, now: Instant, most: number): number | undefined {
    const before = this.#allowances.get(uid) ?? { left: BURST, at: now, leftOut: 0 };
    const gained = Math.floor((now - before.at) / REFILL_MS);
    const left = Math.min(BURST, before.left + Math.max(0, gained));
    const at = gained > 0 ? now : before.at;
    if (this.#allowances.size >= MOST_KNOWN) this.#allowances.clear();
    const may = left > 0 && this.#waiting.length < most;
    this.#allowances.set(uid, {
      left: may ? left - 1 : left,
      at,
      leftOut: may ? 0 : before.leftOut + 1,
    });
    return may ? before.leftOut : undefined;
  }

  #queue(write: () => Promise<void>): void {
    if (this.#waiting.length >= MOST_WAITING || this.#options.signal.aborted) return;
    this.#waiting.push(write);
    if (!this.#busy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    for (let write = this.#waiting.shift(); write !== undefined; write = this.#waiting.shift()) {
      if (this.#options.signal.aborted) break;
      try {
        await write();
        this.#broken = false;
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#busy = false;
  }

  #failed(error: unknown): void {
    const { signal, onError } = this.#options;
    // The Event to count on is gone: it is written again after SAME_MS.
    if (isCode(error, 'KUBE_NOT_FOUND')) return;
    if (this.#broken || signal.aborted) return;
    this.#broken = true;
    onError('writing an Event', error);
  }
}
