import type { AuthorityState, Leaf, TrustBundle } from '@handover/core';
import {
  type AuthorityRecord,
  type Catalogue,
  type Contents,
  claimOf,
  type FileData,
  type ObjectId,
  type Seal,
  type StoredObject,
  secretOf,
  targetsOf,
} from '@handover/engine';
import { type HandoverError, type Instant, instant } from '@handover/material';
import type { Certificates } from './certificates.ts';
import { SimError } from './error.ts';
import { isForeign, NAMESPACES, SHARED, SIMULATED_AUTHORITY } from './resources.ts';

/** What a reader of an object gets, as of one write: the content of its bytes, whatever its record says. */
export interface Content {
  /** True time of the write, and the date that the home's clock gave it. */
  readonly at: number;
  readonly date: Instant;
  /** Grows with every write: a reader never goes back. */
  readonly order: number;
  /** Leaf first; undefined for a bundle without a leaf. */
  readonly chain: readonly string[] | undefined;
  readonly issuer: string | undefined;
  readonly anchors: readonly string[];
}

interface Entry {
  readonly stored: StoredObject;
  readonly history: readonly Content[];
}

export const conflict = (path: string): HandoverError =>
  new SimError('CONFLICT', `${path} changed in the meantime; read it again`, { retry: 'now', path });

/** The home's content: objects by version, the authority by revision, resources, requests, and the clock that dates them. */
export class SimulatedStore {
  readonly #certificates: Certificates;
  readonly #time: () => number;
  readonly #entries = new Map<ObjectId, Entry>();
  #objects: ReadonlyMap<ObjectId, StoredObject> | undefined;
  #catalogue: Catalogue | undefined;
  #managed: ReadonlySet<ObjectId> | undefined;
  #version = 0;
  /** How far its clock is from the true time. */
  offset = 0;
  /** How far its clock is ahead at the moment. */
  leap = 0;
  away = false;
  authority: AuthorityRecord | undefined;
  rotate: readonly string[] = [];
  distrust: readonly number[] = [];
  /** When each Leaf was declared, if in the middle of the world. */
  readonly askedAt = new Map<string, Instant>();
  onWrite: (object: ObjectId, content: Content) => void = () => {};

  constructor(certificates: Certificates, time: () => number) {
    this.#certificates = certificates;
    this.#time = time;
  }

  get now(): Instant {
    return instant(Math.round(this.#time() + this.offset + this.leap));
  }

  get version(): number {
    return this.#version;
  }

  get state(): AuthorityState | undefined {
    return this.authority?.state;
  }

  get catalogue(): Catalogue {
    if (this.#catalogue === undefined) throw new TypeError('nothing is declared yet');
    return this.#catalogue;
  }

  /** The declared resources, from now on. */
  declare(resources: Pick<Catalogue, 'authorities' | 'leaves' | 'trustBundles'>): void {
    this.#catalogue = { ...resources, tlsProfiles: [], namespaces: NAMESPACES };
    this.#managed = undefined;
    this.#version++;
  }

  add({ leaf, bundle }: { readonly leaf?: Leaf; readonly bundle?: TrustBundle }): void {
    const { authorities, leaves, trustBundles } = this.catalogue;
    this.declare({
      authorities,
      leaves: leaf === undefined ? leaves : [...leaves, leaf],
      trustBundles: bundle === undefined ? trustBundles : [...trustBundles, bundle],
    });
  }

  /** Objects that resources ask for. */
  get managed(): ReadonlySet<ObjectId> {
    if (this.#managed === undefined) {
      const { leaves, trustBundles } = this.catalogue;
      this.#managed = new Set([
        SHARED,
        ...leaves.map(secretOf),
        ...trustBundles.flatMap((bundle) => targetsOf(bundle, this.catalogue)),
      ]);
    }
    return this.#managed;
  }

  /** All objects at this instant. */
  get objects(): ReadonlyMap<ObjectId, StoredObject> {
    this.#objects ??= new Map([...this.#entries].map(([id, { stored }]) => [id, stored]));
    return this.#objects;
  }

  object(id: ObjectId): StoredObject | undefined {
    return this.#entries.get(id)?.stored;
  }

  revisionOf(id: ObjectId): number | undefined {
    return this.object(id)?.record?.revisions[SIMULATED_AUTHORITY];
  }

  /** Whether every object was made from this revision: the phase is Stable, or about to be. */
  upToDate(revision: number): boolean {
    for (const id of this.managed)
      if (this.#entries.has(id) && !isForeign(id) && (this.revisionOf(id) ?? 0) < revision) return false;
    return true;
  }

  /** The content at a true time: what a cache of that age still has. */
  contentAt(id: ObjectId, at: number): Content | undefined {
    const history = this.#entries.get(id)?.history ?? [];
    let found: Content | undefined;
    for (const content of history) if (content.at <= at) found = content;
    return found;
  }

  latest(id: ObjectId): Content | undefined {
    return this.#entries.get(id)?.history.at(-1);
  }

  /**
   * The earliest date in the unbroken run of contents for which `holds` is true (the clock may have been set back within it);
   * undefined: it is not true now.
   */
  runBegan(id: ObjectId, holds: (content: Content) => boolean): Instant | undefined {
    const history = this.#entries.get(id)?.history ?? [];
    let began: Instant | undefined;
    for (let index = history.length - 1; index >= 0; index--) {
      const content = history[index];
      if (content === undefined || !holds(content)) break;
      if (began === undefined || content.date < began) began = content.date;
    }
    return began;
  }

  swap(expect: number | undefined, record: AuthorityRecord): void {
    if (this.state?.revision !== expect) throw conflict(SIMULATED_AUTHORITY);
    this.authority = record;
    this.#version++;
  }

  write(id: ObjectId, expect: string | undefined, make: (at: Instant) => Contents): void {
    if (this.object(id)?.version !== expect) throw conflict(id);
    this.#keep(id, make(this.now), this.#time());
  }

  /** An object that exists at the beginning. */
  place(id: ObjectId, contents: Pick<StoredObject, 'data' | 'record'> & { readonly seal?: Seal }): void {
    this.#keep(id, contents, Number.NEGATIVE_INFINITY);
  }

  /** Another program writes the data, and leaves the record as it is. */
  overwrite(id: ObjectId, data: FileData): void {
    const { record, claim } = this.object(id) ?? {};
    this.#keep(id, { data, record, seal: claim?.seal }, this.#time());
  }

  /** The owner of another namespace forges or removes the record; the data stays as it is. */
  forge(id: ObjectId, data: FileData, record: StoredObject['record']): void {
    this.#keep(id, { data, record }, this.#time());
  }

  /** Another program edits something else (a label): the version changes, the content does not. */
  touch(id: ObjectId): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.set(id, { ...entry, stored: { ...entry.stored, version: `${++this.#version}` } });
    this.#objects = undefined;
  }

  /** Requests a rotation by this id, or the distrust of a generation. */
  ask(request: { readonly rotate?: string; readonly distrust?: number }): void {
    if (request.rotate !== undefined) this.rotate = [...this.rotate, request.rotate];
    if (request.distrust !== undefined) this.distrust = [...this.distrust, request.distrust];
    this.#version++;
  }

  /** Drops requests that the state has taken up. */
  done(state: AuthorityState): void {
    this.rotate = this.rotate.filter((id) => !state.ids.includes(id));
    this.distrust = this.distrust.filter((number) =>
      state.generations.some((item) => item.number === number && item.role !== 'distrusted'),
    );
  }

  #keep(
    id: ObjectId,
    { data, record, seal }: Pick<StoredObject, 'data' | 'record'> & { readonly seal?: Seal | undefined },
    at: number,
  ): void {
    const chain = data['tls.crt'] === undefined ? undefined : this.#certificates.read(data['tls.crt']);
    const content: Content = {
      at,
      date: this.now,
      order: ++this.#version,
      chain,
      issuer:
        chain?.[0] === undefined ? undefined : this.#certificates.issuerOfPair(chain[0], data['tls.key']),
      anchors: this.#certificates.read(data['ca.crt'] ?? new Uint8Array()),
    };
    this.#entries.set(id, {
      stored: { version: `${this.#version}`, data, record, ...claimOf(record, seal) },
      history: [...(this.#entries.get(id)?.history ?? []), content],
    });
    this.#objects = undefined;
    this.onWrite(id, content);
  }
}
