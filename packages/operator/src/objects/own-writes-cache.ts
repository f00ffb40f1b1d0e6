import type { Clock } from '@handover/material';
import type { Source } from './fresh.ts';
import { keyOf, type Place, type Plural, placeKey } from './place.ts';
import type { ObjectProjection } from './projection.ts';

interface Answer {
  readonly before: string | undefined;
  readonly held: ObjectProjection;
  /** How long a new object is believed in though the cache has not heard of it. */
  readonly until: number;
}

const UNHEARD_MS = 10_000;

/**
 * Read-your-writes overlay on the informer cache: the answers to our own writes, until the cache has moved on; and what a conflict showed
 * to be out of date: that object is asked for again. Otherwise the same write would be sent twice.
 */
export class OwnWritesCache implements Source {
  readonly #cache: Source;
  readonly #server: Source;
  readonly #answers = new Map<string, Answer>();
  readonly #suspect = new Set<string>();
  readonly #strangers = new Set<string>();
  readonly #clock: Clock;

  /** Versions that our own writes made, and events that came while one was under way. */
  readonly #ours = new Map<string, string>();
  readonly #flying = new Map<string, { version: string | undefined; tell: () => void }[]>();

  constructor(cache: Source, server: Source, clock: Clock) {
    this.#clock = clock;
    this.#cache = cache;
    this.#server = server;
  }

  async held(place: Place): Promise<ObjectProjection | undefined> {
    const name = placeKey(place);
    const cached = await this.#cache.held(place);
    if (this.#suspect.delete(name) || (cached === undefined && this.#strangers.has(name))) {
      const held = await this.#server.held(place);
      if (held === undefined || cached !== undefined) this.#strangers.delete(name);
      else this.#strangers.add(name);
      if (held !== undefined && cached !== undefined && held.version !== cached.version)
        this.#answers.set(name, { before: cached.version, held, until: Number.POSITIVE_INFINITY });
      return held;
    }
    return this.#newer(name, cached);
  }

  /** Whether it was seen to be there though the cache does not have it: without our label it is not watched. */
  isStranger(place: Place): boolean {
    return this.#strangers.has(placeKey(place));
  }

  async all(plural: Plural): Promise<readonly ObjectProjection[]> {
    const cached = await this.#cache.all(plural);
    const answered = [...this.#answers.values()].filter(({ held }) => held.plural === plural);
    if (answered.length === 0) return cached;
    const known = new Map(cached.map((held) => [keyOf(held), held]));
    for (const { held } of answered) {
      const newest = this.#newer(placeKey(held), known.get(keyOf(held)));
      if (newest !== undefined) known.set(keyOf(held), newest);
    }
    return [...known.values()];
  }

  #newer(name: string, cached: ObjectProjection | undefined): ObjectProjection | undefined {
    const answer = this.#answers.get(name);
    if (answer === undefined) return cached;
    // The object was created and deleted again before the watch reported it.
    const forgotten = cached === undefined && this.#clock.monotonic() > answer.until;
    if (cached?.version === answer.before && !forgotten) return answer.held;
    this.#answers.delete(name);
    return cached;
  }

  /** A write begins; the answer tells the version that it made, or undefined that there is none to tell. */
  begin(place: Place): (version: string | undefined) => void {
    const name = placeKey(place);
    if (this.#flying.has(name)) return () => {};
    const waiting: { version: string | undefined; tell: () => void }[] = [];
    this.#flying.set(name, waiting);
    return (version) => {
      if (this.#flying.get(name) !== waiting) return;
      this.#flying.delete(name);
      if (version !== undefined) this.#ours.set(name, version);
      for (const event of waiting) if (version === undefined || event.version !== version) event.tell();
    };
  }

  /** Calls `tell` unless the event was of our own making: then there is nothing new in it. */
  unlessOurs(plural: Plural, key: string, version: string | undefined, tell: () => void): void {
    const name = `${plural} ${key}`;
    const waiting = this.#flying.get(name);
    if (waiting !== undefined) waiting.push({ version, tell });
    else if (version === undefined || this.#ours.get(name) !== version) tell();
    if (version === undefined) this.#ours.delete(name);
  }

  /** The cache has heard of it: from now on it knows better whether something new is still there. */
  moved(plural: Plural, key: string): void {
    const name = `${plural} ${key}`;
    if (this.#answers.get(name)?.before === undefined) this.#answers.delete(name);
  }

  /** The API server answered a write that was decided on version `before`. */
  async wrote(before: string | undefined, held: ObjectProjection): Promise<void> {
    const cached = await this.#cache.held({ ...held, part: '' });
    this.#strangers.delete(placeKey(held));
    const name = placeKey(held);
    const answer = this.#answers.get(name);
    // The event may have come before the answer.
    if (cached?.version === before)
      this.#answers.set(name, { before, held, until: this.#clock.monotonic() + UNHEARD_MS });
    // It was decided on what the server had said, which the cache has not seen yet.
    else if (answer?.held.version === before && cached?.version === answer?.before)
      this.#answers.set(name, { before: answer?.before, held, until: Number.POSITIVE_INFINITY });
  }

  /** What the cache says about it has proved wrong. */
  doubt(place: Place): void {
    const name = placeKey(place);
    this.#answers.delete(name);
    this.#suspect.add(name);
  }
}
