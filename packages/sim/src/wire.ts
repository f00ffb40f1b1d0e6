import {
  type AuthorityRecord,
  type Catalogue,
  type ConsumerFound,
  CreationDates,
  type Home,
  type HomeClock,
  idOf,
  type ObjectId,
  OutputPreparer,
  type Readers,
  readSnapshot,
  type StoredObject,
} from '@handover/engine';
import { duration, HandoverError, minute, second } from '@handover/material';
import { SimError } from './error.ts';
import { openKey } from './keys.ts';
import type { Stage } from './stage.ts';

const away = (): HandoverError =>
  new SimError('HOME_AWAY', 'the API server does not answer; try again', { retry: 'later' });
const lost = (): HandoverError =>
  new SimError('HOME_TIMEOUT', 'no answer came; the write may have landed or not', { retry: 'later' });

/** A process's cache of its home; each part has its own age. */
interface Memory {
  readonly objects: ReadonlyMap<ObjectId, StoredObject>;
  readonly consumers: readonly ConsumerFound[];
  readonly authority: AuthorityRecord | undefined;
  readonly catalogue: Catalogue;
}

/** One watch each: authorities are Secrets too. */
const WATCHES: readonly (readonly (keyof Memory)[])[] = [
  ['objects', 'authority'],
  ['consumers'],
  ['catalogue'],
];

/**
 * The home of one controller process: each call is an event of the world, takes time, may fail, and may be the last one of the
 * process; a write may land late, or without an answer.
 */
export class Wire {
  readonly home: Home;
  readonly #stage: Stage;
  readonly #die: () => void;
  readonly #resumed: () => void;
  readonly #creationDates: CreationDates;
  readonly #outputs: OutputPreparer;
  readonly #landings = new Set<() => void>();
  #memory: Memory | undefined;
  readonly #hanging = new Set<keyof Memory>();
  #hangUntil = 0;
  #cut = false;
  /** Calls without an answer. */
  pending = 0;
  /** Everything is answered in the same instant: nothing else in the world moves. */
  immediate = false;

  constructor(stage: Stage, clock: HomeClock, die: () => void, resumed: () => void) {
    this.#stage = stage;
    this.#die = die;
    this.#resumed = resumed;
    this.#outputs = new OutputPreparer(stage.clock);
    this.#creationDates = new CreationDates(clock);
    this.home = stage.meddle(this.#homeWith(clock));
  }

  /** What informers have by now. Watches that hang, one or several, leave their parts as they were. */
  refresh(): void {
    const { store } = this.#stage;
    const before = this.#memory;
    this.#hang();
    const part = <K extends keyof Memory>(key: K, now: Memory[K]): Memory[K] =>
      before !== undefined && this.#hanging.has(key) ? before[key] : now;
    this.#memory = {
      objects: part('objects', store.objects),
      consumers: part('consumers', this.#stage.consumersFound()),
      authority: part('authority', store.authority),
      catalogue: part('catalogue', store.catalogue),
    };
  }

  #hang(): void {
    const { random, faults } = this.#stage;
    const time = this.#stage.time();
    if (this.immediate || !faults.staleReads || time >= this.#hangUntil) this.#hanging.clear();
    if (this.immediate || !faults.staleReads) return;
    if (this.#hanging.size === 0 && random.chance(0.1)) {
      for (const parts of WATCHES) if (random.chance(0.5)) for (const part of parts) this.#hanging.add(part);
      this.#hangUntil = time + random.between(0, random.chance(0.5) ? minute : 8 * minute);
    }
    if (this.#hanging.size > 0) this.#stage.happened('stale-reads');
  }

  /** The process is gone. Its last writes may still arrive. */
  cut(): void {
    const { faults, random } = this.#stage;
    this.#cut = true;
    for (const land of this.#landings) {
      if (!faults.lateWrites || !random.chance(0.5)) continue;
      this.#stage.happened('late-writes');
      this.#arriveLate(land);
    }
    this.#landings.clear();
  }

  #arriveLate(land: () => void): void {
    this.#stage.later(this.#stage.random.between(0, 3 * minute), () => {
      if (this.#stage.store.away) return;
      try {
        land();
      } catch (error) {
        if (!(error instanceof HandoverError)) throw error;
      }
    });
  }

  #ask<T>(read: () => T): Promise<T> {
    const { store, random } = this.#stage;
    if (this.immediate) return store.away ? Promise.reject(away()) : Promise.resolve(read());
    const pauses = this.#stage.faults.lateWrites && random.chance(0.004);
    const wait = pauses ? this.#pause(second) : random.between(0, 10);
    return this.#call((resolve, reject) => {
      this.#stage.soon(wait, () => {
        if (this.#cut) return;
        if (this.#stage.faults.crash && random.chance(0.002)) {
          this.#die();
          return;
        }
        this.#answered();
        if (store.away) reject(away());
        else resolve(read());
      });
    });
  }

  #send(land: () => void): Promise<void> {
    const { store, random } = this.#stage;
    if (this.immediate) return store.away ? Promise.reject(away()) : new Promise((done) => done(land()));
    const late = this.#stage.faults.lateWrites && random.chance(0.06);
    if (late) this.#stage.happened('late-writes');
    const wait = late ? this.#pause(5 * second) : random.between(0, this.#stage.gap);
    this.#landings.add(land);
    return this.#call((resolve, reject) => {
      this.#stage.later(wait, () => {
        if (this.#cut) return;
        const { faults } = this.#stage;
        if (faults.crash && random.chance(0.05)) {
          this.#die();
          return;
        }
        this.#landings.delete(land);
        this.#answered();
        if (store.away) {
          reject(away());
          return;
        }
        if (faults.lateWrites && random.chance(0.01)) {
          this.#stage.happened('late-writes');
          this.#arriveLate(land);
          reject(lost());
          return;
        }
        try {
          land();
        } catch (error) {
          this.#stage.happened('conflicts');
          reject(error);
          return;
        }
        if (faults.crash && random.chance(0.05)) this.#die();
        else if (faults.lateWrites && random.chance(0.01)) reject(lost());
        else resolve();
      });
    });
  }

  /** Seconds or minutes; rarely, like a suspended machine, long enough for others to finish a rotation. */
  #pause(least: number): number {
    const { random } = this.#stage;
    return random.chance(0.7) ? random.between(least, 4 * minute) : random.between(4 * minute, 15 * minute);
  }

  #call<T>(begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => void): Promise<T> {
    this.pending++;
    return new Promise(begin);
  }

  #answered(): void {
    this.pending--;
    this.#resumed();
  }

  #homeWith(clock: HomeClock): Home {
    const { store, certificates, found } = this.#stage;
    const fresh = this.#readers(clock, {
      objects: () => store.objects,
      authority: () => store.authority,
      consumers: () => this.#stage.consumersFound(),
      ask: (read) => this.#ask(read),
    });
    const has = (): Memory => {
      if (this.#memory === undefined) throw new TypeError('nothing is in memory yet');
      return this.#memory;
    };
    const cached = this.#readers(clock, {
      objects: () => has().objects,
      authority: () => has().authority,
      consumers: () => has().consumers,
      ask: async (read) => read(),
    });
    return {
      fresh: () => readSnapshot(fresh, () => this.#ask(() => store.catalogue)),
      cached: found ? () => readSnapshot(cached, () => has().catalogue) : undefined,
      objects: {
        write: (id, expect, make) =>
          this.#send(() => {
            const before = store.latest(id);
            store.write(id, expect, make);
            this.#stage.wrote(id, before);
          }),
      },
      authorities: {
        swap: (_, expect, record) =>
          this.#send(() => {
            const before = store.state;
            store.swap(expect, record);
            this.#stage.swapped(before);
          }),
      },
      requests: {
        ask: (request) => this.#send(() => store.ask(request)),
        drop: async () => [],
        done: (_, state) => this.#ask(() => store.done(state)),
      },
      clock,
      // In memory, and never at fault: a crash before or after it is one of the ports around it.
      keyring: {
        create: async () => certificates.create(),
        import: async () => {
          throw new TypeError('no simulated CA is adopted with its key');
        },
        open: async (ref) => openKey(ref),
        destroy: async () => {},
      },
      // Only for the key of seals: the issuer makes the serials.
      random: (bytes) => new Uint8Array(bytes).fill(7),
      ledger: undefined,
      rollouts: found
        ? { stamp: (consumer, expect, stamp) => this.#send(() => this.#stage.stamp(consumer, expect, stamp)) }
        : undefined,
      issuer: {
        ca: ({ generation, signer, notBefore, notAfter }) =>
          this.#ask(() => certificates.ca(generation, signer, notBefore, notAfter)),
        cross: ({ subject, by, notBefore, notAfter }) =>
          this.#ask(() => certificates.cross(subject, by, notBefore, notAfter)),
        sign: async () => {
          throw new TypeError('no simulated program holds a key of its own');
        },
        leaf: ({ leaf, by, notBefore, notAfter }) =>
          this.#ask(() => certificates.leaf(idOf(leaf), by, notBefore, notAfter)),
      },
    };
  }

  #readers(clock: HomeClock, { objects, authority, consumers, ask }: Reads): Readers {
    const { store, found, cacheLag } = this.#stage;
    return {
      objects: {
        read: (id) => ask(() => objects().get(id)),
        issuedBy: (id, known) => ask(() => orphansIn(objects(), id, known)),
      },
      authorities: { load: () => ask(authority) },
      requests: { pending: () => ask(() => ({ rotate: store.rotate, distrust: store.distrust })) },
      evidence: this.#creationDates.of({ consumers: () => ask(consumers) }),
      facts: {
        consumersFound: found,
        cacheLag: duration(cacheLag),
        trustNamespace: 'sim',
        askedAt: (leaf) => store.askedAt.get(leaf),
      },
      outputs: this.#outputs,
      clock,
    };
  }
}

/** Where a look reads from, and how long an answer takes. */
interface Reads {
  readonly objects: () => ReadonlyMap<ObjectId, StoredObject>;
  readonly authority: () => AuthorityRecord | undefined;
  readonly consumers: () => readonly ConsumerFound[];
  readonly ask: <T>(read: () => T) => Promise<T>;
}

const orphansIn = (
  objects: ReadonlyMap<ObjectId, StoredObject>,
  authority: string,
  known: ReadonlySet<ObjectId>,
): readonly ObjectId[] =>
  [...objects].flatMap(([id, { record }]) => (record?.issuedBy === authority && !known.has(id) ? [id] : []));
