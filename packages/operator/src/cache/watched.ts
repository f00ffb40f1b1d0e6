import {
  Informer,
  type InformerOptions,
  type InformerState,
  type KubeObject,
  type KubeReader,
  objectKeyOf,
  type ResourceKind,
  type StoreChange,
} from '@handover/kube';
import { Listeners } from '@handover/material';
import { OperatorError } from '../error.ts';
import { Budget } from './budget.ts';
import { type Projection, sizeOf } from './projection.ts';

/** In the place of an object that is there and not kept. */
class Unknown {
  readonly why: 'no room' | 'unreadable';

  constructor(why: Unknown['why']) {
    this.why = why;
  }
}
const NO_ROOM = new Unknown('no room');
const UNREADABLE = new Unknown('unreadable');
type Stored<Kept> = Kept | Unknown;

/** What a key, a version and an entry take up beside what is kept. */
const EACH = 256;
/** Objects of a namespace that are remembered as unknown, by name. What is beyond them is unknown for as long as this process runs. */
const MOST_UNKNOWN = 2_000;

const known = <Kept>(stored: Stored<Kept> | undefined): Kept | undefined =>
  stored instanceof Unknown ? undefined : stored;

const namespaceOf = (key: string): string | undefined => {
  const at = key.indexOf('/');
  return at < 0 ? undefined : key.slice(0, at);
};

export interface WatchedOptions<O extends KubeObject, Kept>
  extends Omit<InformerOptions<O, Kept>, 'project' | 'lists'> {
  readonly projection: Projection<O, Kept>;
  /** What of each object is asked for; see `Projection`. */
  readonly part?: string | undefined;
  /** Does not wait for the word on which namespaces are served: that is made from it. */
  readonly first?: boolean;
  /** Default: one of its own. */
  readonly budget?: Budget | undefined;
}

interface WatchedEvents<Kept> {
  changed: StoreChange<Kept>;
  synced: undefined;
  /** For logs: the watch continues without help. */
  trouble: Error;
  /** A namespace has objects that are not known, or has none any more. */
  unknown: string;
}

/**
 * The one way in which the operator keeps objects of the API server: what a projection makes of them, charged to their namespace. An object that
 * there is no room for is never taken for one that does not exist: a shell stands for it, or its namespace is `unknown`.
 */
export class Watched<O extends KubeObject, Kept> {
  readonly #options: WatchedOptions<O, Kept>;
  readonly #budget: Budget;
  readonly #informer: Informer<O, Stored<Kept>>;
  readonly #listeners = new Listeners<WatchedEvents<Kept>>();
  /** Bytes by key. */
  readonly #charged = new Map<string, number>();
  readonly #shells = new Set<string>();
  readonly #unknown = new Map<string, Set<string>>();
  readonly #overflown = new Set<string>();
  /** Namespaces whose objects are read again. */
  readonly #reading = new Set<string>();
  #again: string | undefined;

  constructor(kube: KubeReader, kind: ResourceKind<O>, options: WatchedOptions<O, Kept>) {
    const { projection: _, part: __, first: ___, budget = new Budget(), indexes = {}, ...which } = options;
    this.#options = options;
    this.#budget = budget;
    this.#informer = new Informer<O, Stored<Kept>>(kube, kind, {
      ...which,
      project: (object) => this.#project(object),
      indexes: Object.fromEntries(
        Object.entries(indexes).map(([name, of]) => [
          name,
          (stored: Stored<Kept>) => (stored instanceof Unknown ? [] : of(stored)),
        ]),
      ),
    });
    this.#informer.on('changed', (change) => this.#changed(change));
    this.#informer.on('synced', () => this.#listeners.emit('synced', undefined));
    this.#informer.on('trouble', (error) => {
      this.#releaseStale();
      this.#listeners.emit('trouble', error);
    });
  }

  get ready(): Promise<void> {
    return this.#informer.ready;
  }

  get synced(): boolean {
    return this.#informer.synced;
  }

  get state(): InformerState {
    return this.#informer.state;
  }

  /** By `namespace/name`, or by `name` for a kind without namespaces. */
  get(key: string): Kept | undefined {
    return known(this.#informer.get(key));
  }

  /** What is kept of the object, where that is of this version; `unknown`: it is, and it is not known. */
  unchanged(key: string, version: string): Kept | 'unknown' | undefined {
    const stored = this.#informer.unchanged(key, version);
    return stored instanceof Unknown ? 'unknown' : stored;
  }

  list(): Kept[] {
    const all = this.#informer.list();
    return this.#unknown.size === 0
      ? (all as Kept[])
      : all.flatMap((stored) => (stored instanceof Unknown ? [] : [stored]));
  }

  by(index: string, value: string): Kept[] {
    return this.#informer.by(index, value) as Kept[];
  }

  /** Namespaces with objects that are there and not kept: nothing may be concluded from not finding one there. */
  get unknown(): readonly string[] {
    return [...new Set([...this.#unknown.keys(), ...this.#overflown])];
  }

  on<Name extends keyof WatchedEvents<Kept>>(
    name: Name,
    listener: (event: WatchedEvents<Kept>[Name]) => void,
  ): this {
    this.#listeners.on(name, listener);
    return this;
  }

  /** Lists and watches until `signal`, from the moment on at which the budget knows which namespaces are served. */
  start(signal: AbortSignal): this {
    if (this.#options.first === true) this.#informer.start(signal);
    else this.#budget.whenOpen(() => this.#informer.start(signal));
    const ended = this.#budget.onRoom((namespace) => void this.#readAgain(namespace));
    const end = (): void => {
      ended();
      for (const key of this.#charged.keys()) this.#charge(namespaceOf(key), key, 0);
      for (const namespace of this.#unknown.keys()) this.#budget.refused(namespace, this, false);
    };
    signal.addEventListener('abort', end, { once: true });
    return this;
  }

  #project(object: O): Stored<Kept> | undefined {
    const key = objectKeyOf(object);
    const { namespace, resourceVersion = '' } = object.metadata;
    if (this.#again !== key) {
      const same = this.#informer.unchanged(key, resourceVersion);
      if (same !== undefined) return same;
    }
    const { projection, part } = this.#options;
    let kept: Kept | undefined;
    try {
      kept = projection.keep(object, part);
    } catch (cause) {
      this.#charge(namespace, key, 0);
      this.#listeners.emit(
        'trouble',
        new OperatorError(
          'KUBE_OBJECT_UNREADABLE',
          `${projection.name} ${key} cannot be read; it counts as unknown`,
          { cause },
        ),
      );
      return this.#without(object, key, UNREADABLE);
    }
    this.#shells.delete(key);
    if (kept === undefined) {
      this.#charge(namespace, key, 0);
      return undefined;
    }
    const size = sizeOf(kept, projection.most);
    if (Number.isFinite(size) && this.#charge(namespace, key, size + EACH)) return kept;
    this.#charge(namespace, key, 0);
    return this.#without(object, key, NO_ROOM);
  }

  #without(object: O, key: string, marker: Unknown): Stored<Kept> | undefined {
    const namespace = object.metadata.namespace ?? '';
    const unknown = this.#unknown.get(namespace);
    if (unknown?.has(key) !== true && (unknown?.size ?? 0) >= MOST_UNKNOWN) {
      this.#overflown.add(namespace);
      return undefined;
    }
    const shell = marker === NO_ROOM ? this.#options.projection.shell(object) : undefined;
    if (shell === undefined) return marker;
    this.#shells.add(key);
    return shell;
  }

  #charge(namespace: string | undefined, key: string, now: number): boolean {
    const before = this.#charged.get(key) ?? 0;
    if (before === 0 && now === 0) return true;
    const hasRoom =
      namespace === undefined ||
      this.#budget.charge(namespace, before, now, this.#options.projection.ofShare);
    if (hasRoom && now > 0) this.#charged.set(key, now);
    else this.#charged.delete(key);
    return hasRoom;
  }

  #changed({ key, before, after }: StoreChange<Stored<Kept>>): void {
    const namespace = namespaceOf(key) ?? '';
    if (after === undefined) {
      this.#shells.delete(key);
      this.#charge(namespace === '' ? undefined : namespace, key, 0);
    }
    this.#count(namespace, key, after instanceof Unknown || this.#shells.has(key));
    const change = { key, before: known(before), after: known(after) };
    if (change.before !== undefined || change.after !== undefined) this.#listeners.emit('changed', change);
  }

  #count(namespace: string, key: string, isUnknown: boolean): void {
    const all = this.#unknown.get(namespace);
    if ((all?.has(key) ?? false) === isUnknown) return;
    const now = all ?? new Set<string>();
    if (isUnknown) now.add(key);
    else now.delete(key);
    if (now.size === 0) this.#unknown.delete(namespace);
    else this.#unknown.set(namespace, now);
    if (all !== undefined && now.size > 0) return;
    // What cannot be read takes no room.
    const isCrowded = [...now].some((one) => this.#shells.has(one) || this.#informer.get(one) === NO_ROOM);
    this.#budget.refused(namespace, this, isCrowded);
    this.#listeners.emit('unknown', namespace);
  }

  /** A list that broke off has charged for objects that are not kept. */
  #releaseStale(): void {
    for (const key of this.#charged.keys())
      if (this.#informer.get(key) === undefined) this.#charge(namespaceOf(key), key, 0);
  }

  /** There may be room again: what is unknown is read, one after the other, as far as there is. */
  async #readAgain(namespace: string): Promise<void> {
    if (this.#reading.has(namespace)) return;
    this.#reading.add(namespace);
    try {
      for (const key of [...(this.#unknown.get(namespace) ?? [])]) {
        await this.#informer.refresh(key, (take) => {
          this.#again = key;
          take();
          this.#again = undefined;
        });
        if (this.#unknown.get(namespace)?.has(key) === true) break;
      }
    } catch (error) {
      this.#listeners.emit('trouble', error as Error);
    } finally {
      this.#reading.delete(namespace);
    }
  }
}

/** An object that cannot be read is unknown, as in a watch: it must not keep the others from being read. */
const keptOf = <O extends KubeObject, Kept>(
  projection: Projection<O, Kept>,
  object: O,
  part: string | undefined,
): Stored<Kept> | undefined => {
  try {
    return projection.keep(object, part);
  } catch {
    return UNREADABLE;
  }
};

/** Reads all of a list, page by page, and keeps what the projection makes of it. */
export async function listed<O extends KubeObject, Kept>(
  kube: KubeReader,
  kind: ResourceKind<O>,
  {
    projection,
    part,
    budget = new Budget(),
    namespace,
    labelSelector,
    fieldSelector,
    metadataOnly,
  }: WatchedOptions<O, Kept>,
  signal: AbortSignal | undefined,
): Promise<{ readonly kept: readonly Kept[]; readonly unknown: ReadonlySet<string> }> {
  const kept: Kept[] = [];
  const unknown = new Set<string>();
  const which = { namespace, labelSelector, fieldSelector, metadataOnly };
  for await (const { items } of kube.pages(kind, which, { signal }))
    for (const object of items) {
      const place = object.metadata.namespace;
      const one = keptOf(projection, object, part);
      if (one === undefined) continue;
      const size = one instanceof Unknown ? Number.POSITIVE_INFINITY : sizeOf(one, projection.most) + EACH;
      const hasRoom =
        Number.isFinite(size) && (place === undefined || budget.charge(place, 0, size, projection.ofShare));
      if (hasRoom && !(one instanceof Unknown)) {
        kept.push(one);
        continue;
      }
      const shell = projection.shell(object);
      if (shell !== undefined) kept.push(shell);
      if (place !== undefined) unknown.add(place);
    }
  return { kept, unknown };
}
