import { HandoverError, Listeners } from '@handover/material';
import { apiCause, isCode } from './error.ts';
import type { Kind } from './kinds.ts';
import type { KubeReader } from './kube.ts';
import { type KubeObject, keyOf } from './object.ts';
import type { WatchEvent } from './requests.ts';
import { type Change, type Indexes, Store } from './store.ts';
import { anyOf, wait } from './wait.ts';
import { type ListMode, step, type Trouble, type WatchInput, type WatchState } from './watch-state.ts';

export interface InformerOptions<O extends KubeObject, T> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Only metadata travels and is kept. */
  readonly metadataOnly?: boolean | undefined;
  /**
   * What is kept of an object; undefined: nothing. Called once per change. Without it the whole object is kept, but for
   * its managed fields.
   */
  readonly project?: ((object: O) => T | undefined) | undefined;
  readonly indexes?: Indexes<T> | undefined;
  /** Milliseconds after which everything is told again (`before` equal to `after`). Default: never. */
  readonly resync?: number | undefined;
  /** Milliseconds without a byte after which the connection counts as dead. Default 150,000. */
  readonly silence?: number | undefined;
  /**
   * Seconds, give or take a third, after which a watch is opened anew from where it was. With a `silence` a little longer, a
   * connection over which nothing comes any more is found out that soon. Default: 300 to 600.
   */
  readonly lifetime?: number | undefined;
  /** Default `stream`; falls back to `pages` where the server has no streaming lists. */
  readonly lists?: 'stream' | 'pages' | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface InformerState {
  readonly phase: WatchState['at'];
  readonly synced: boolean;
  readonly objects: number;
  readonly resourceVersion: string | undefined;
  /** In a row. */
  readonly failures: number;
  readonly lastError: Error | undefined;
  /** How often the whole was read, and a watch opened. */
  readonly lists: number;
  readonly watches: number;
  /** Milliseconds since the server was last heard; undefined before that. */
  readonly silentFor: number | undefined;
}

interface InformerEvents<T> {
  changed: Change<T>;
  synced: undefined;
  /** Nothing to do: the informer goes on by itself. */
  trouble: Error;
}

/** A watch that ended sooner than this without a word was no success. */
const BARREN_MS = 1_000;
/** Silence in the middle of a streaming list after which pages are tried instead. */
const STREAM_MS = 30_000;
const LISTED = new Error('the list is whole');
const INITIAL_END = 'k8s.io/initial-events-end';

function withoutManagedFields<O extends KubeObject>(object: O): O {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** A store that equals the server's list, sooner or later, whatever happens in between. */
export class Informer<O extends KubeObject = KubeObject, T = O> {
  readonly ready: Promise<void>;
  readonly #kube: KubeReader;
  readonly #kind: Kind<O>;
  readonly #options: InformerOptions<O, T>;
  readonly #store: Store<T>;
  readonly #listeners = new Listeners<InformerEvents<T>>();
  readonly #stop = new AbortController();
  #state: WatchState = { at: 'idle' };
  #synced = false;
  #lastError: Error | undefined;
  #lists = 0;
  #watches = 0;
  #heard: number | undefined;
  #settle: { resolve(): void; reject(error: Error): void };

  constructor(kube: KubeReader, kind: Kind<O>, options: InformerOptions<O, T> = {}) {
    this.#kube = kube;
    this.#kind = kind;
    this.#options = options;
    this.#store = new Store(options.indexes);
    this.#settle = { resolve: () => undefined, reject: () => undefined };
    this.ready = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.ready.catch(() => undefined); // whoever awaits it hears of it
  }

  /** True once the store has been whole. */
  get synced(): boolean {
    return this.#synced;
  }

  get size(): number {
    return this.#store.size;
  }

  get state(): InformerState {
    const state = this.#state;
    const active = state.at === 'waiting' ? state.next : state;
    return {
      phase: state.at,
      synced: this.#synced,
      objects: this.#store.size,
      resourceVersion: active.at === 'watching' ? active.from : undefined,
      failures: 'failures' in active ? active.failures : 0,
      lastError: this.#lastError,
      lists: this.#lists,
      watches: this.#watches,
      silentFor: this.#heard === undefined ? undefined : performance.now() - this.#heard,
    };
  }

  /** `namespace/name`, or `name`. */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return this.#store.list();
  }

  keys(): string[] {
    return this.#store.keys();
  }

  by(index: string, value: string): T[] {
    if (!this.#store.has(index)) throw new HandoverError('OPTION_INVALID', `there is no index "${index}"`);
    return this.#store.by(index, value);
  }

  on<Name extends keyof InformerEvents<T>>(name: Name, listener: (e: InformerEvents<T>[Name]) => void): this {
    this.#listeners.on(name, listener);
    return this;
  }

  off<Name extends keyof InformerEvents<T>>(
    name: Name,
    listener: (e: InformerEvents<T>[Name]) => void,
  ): this {
    this.#listeners.off(name, listener);
    return this;
  }

  start(): this {
    if (this.#state.at !== 'idle') return this;
    this.#input({ is: 'start', mode: this.#options.lists ?? 'stream' });
    void this.#run();
    return this;
  }

  stop(): void {
    this.#stop.abort(new HandoverError('KUBE_ABORTED', `the informer of ${this.#kind.plural} was stopped`));
  }

  async #run(): Promise<void> {
    const any = anyOf(this.#stop.signal, this.#options.signal);
    const { resync } = this.#options;
    const timer = resync === undefined ? undefined : setInterval(() => this.#tellAll(), resync).unref();
    while (!any.signal.aborted) {
      try {
        await this.#act(any.signal);
      } catch (error) {
        if (any.signal.aborted) break;
        this.#failed(error as Error);
      }
    }
    clearInterval(timer);
    any.done();
    this.#input({ is: 'stop' });
    const cause = any.signal.reason as unknown;
    this.#settle.reject(
      cause instanceof HandoverError
        ? cause
        : new HandoverError('KUBE_ABORTED', `the informer of ${this.#kind.plural} was stopped`, { cause }),
    );
  }

  async #act(signal: AbortSignal): Promise<void> {
    const state = this.#state;
    switch (state.at) {
      case 'listing':
        return state.mode === 'stream' ? this.#streamAll(signal) : this.#listAll(state.mode, signal);
      case 'watching':
        return this.#watch(state.from, signal);
      case 'waiting':
        await wait(state.delay, signal, `informer of ${this.#kind.plural}`);
        return this.#input({ is: 'waited' });
      case 'idle':
      case 'stopped':
        return;
      default:
        return state satisfies never;
    }
  }

  async #listAll(mode: ListMode, signal: AbortSignal): Promise<void> {
    const fresh = new Map<string, readonly [string, T]>();
    const which = { ...this.#which(), ...(mode === 'whole' ? { limit: 0 } : {}) };
    let version = '';
    for await (const page of this.#kube.pages(this.#kind, which, { signal })) {
      version ||= page.resourceVersion;
      for (const object of page.items) this.#collect(fresh, object);
      this.#heard = performance.now();
    }
    this.#replace(fresh, version);
  }

  /** The list as the beginning of a watch: an object is in memory once, and only as long as it takes to project it. */
  async #streamAll(signal: AbortSignal): Promise<void> {
    let fresh: Map<string, readonly [string, T]> | undefined = new Map();
    const own = anyOf(signal);
    const stuck = () =>
      own.abort(new HandoverError('KUBE_STREAM_UNSUPPORTED', 'the list never came to its end'));
    const timer = setTimeout(stuck, STREAM_MS);
    const seen = (event: WatchEvent<O>) => {
      if (fresh === undefined) return this.#take(event);
      this.#heard = performance.now();
      timer.refresh();
      if (event.type === 'BOOKMARK') {
        if (event.object.metadata.annotations?.[INITIAL_END] !== 'true') return;
        clearTimeout(timer);
        this.#replace(fresh, event.object.metadata.resourceVersion ?? '');
        fresh = undefined;
        // A list takes as long as it takes; the watches after it are kept short.
        if (this.#options.lifetime !== undefined) own.abort(LISTED);
      } else if (event.type === 'DELETED') fresh.delete(keyOf(event.object));
      else this.#collect(fresh, event.object);
    };
    const began = performance.now();
    try {
      await this.#kube.watch(
        this.#kind,
        { ...this.#which(), sendInitialEvents: true },
        seen,
        this.#watchOptions(own.signal),
      );
    } catch (error) {
      if (own.signal.reason !== LISTED || signal.aborted) throw error;
      return;
    } finally {
      clearTimeout(timer);
      own.done();
    }
    this.#input({ is: 'ended', barren: fresh !== undefined || performance.now() - began < BARREN_MS });
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    let events = 0;
    await this.#kube.watch(
      this.#kind,
      { ...this.#which(), resourceVersion: from },
      (event) => {
        events++;
        this.#take(event);
      },
      { ...this.#watchOptions(signal), lifetime: this.#lifetime() },
    );
    this.#input({ is: 'ended', barren: events === 0 && performance.now() - began < BARREN_MS });
  }

  #lifetime(): number | undefined {
    const { lifetime } = this.#options;
    return lifetime === undefined
      ? undefined
      : Math.max(1, Math.round(lifetime * (2 / 3 + (Math.random() * 2) / 3)));
  }

  #which() {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = this.#options;
    return { namespace, labelSelector, fieldSelector, metadataOnly };
  }

  #watchOptions(signal: AbortSignal) {
    const opened = () => {
      this.#watches++;
      this.#heard = performance.now();
    };
    return { signal, silence: this.#options.silence, opened };
  }

  /** An object that cannot be read is left out and told of: it must not keep the watch from all the others. */
  #project(object: O): T | undefined {
    const { project } = this.#options;
    if (project === undefined) return withoutManagedFields(object) as unknown as T;
    try {
      return project(object);
    } catch (error) {
      const message = `${this.#kind.kind} ${keyOf(object)} cannot be read and is left out`;
      this.#listeners.emit('trouble', new HandoverError('KUBE_OBJECT_UNREADABLE', message, { cause: error }));
      return undefined;
    }
  }

  #collect(fresh: Map<string, readonly [string, T]>, object: O): void {
    const value = this.#project(object);
    if (value !== undefined) fresh.set(keyOf(object), [object.metadata.resourceVersion ?? '', value]);
  }

  /** The store becomes the list; what differs is told, also what disappeared unseen. */
  #replace(fresh: ReadonlyMap<string, readonly [string, T]>, version: string): void {
    this.#lists++;
    this.#input({ is: 'listed', version });
    for (const key of this.#store.keys())
      if (!fresh.has(key)) this.#tell(this.#store.set(key, '', undefined));
    for (const [key, [at, value]] of fresh) this.#tell(this.#store.set(key, at, value));
    if (this.#synced) return;
    this.#synced = true;
    this.#settle.resolve();
    this.#listeners.emit('synced', undefined);
  }

  #take({ type, object }: WatchEvent<O>): void {
    this.#heard = performance.now();
    const version = object.metadata.resourceVersion ?? '';
    if (type !== 'BOOKMARK') {
      const value = type === 'DELETED' ? undefined : this.#project(object);
      this.#tell(this.#store.set(keyOf(object), version, value));
    }
    if (version !== '') this.#input({ is: 'progressed', version });
  }

  #tell(change: Change<T> | undefined): void {
    if (change !== undefined) this.#listeners.emit('changed', change);
  }

  #tellAll(): void {
    if (!this.#synced) return;
    for (const key of this.#store.keys()) {
      const value = this.#store.get(key);
      if (value !== undefined) this.#tell({ key, before: value, after: value });
    }
  }

  #failed(error: Error): void {
    this.#lastError = error;
    this.#input({ is: 'failed', trouble: troubleOf(error, this.#state) });
    this.#listeners.emit('trouble', error);
  }

  #input(input: WatchInput): void {
    this.#state = step(this.#state, input, Math.random());
  }
}

/** What an error means to the state machine. Everything unknown is waited out. */
export function troubleOf(error: Error, state: WatchState): Trouble {
  if (isCode(error, 'KUBE_GONE')) return { kind: 'gone' };
  if (isCode(error, 'KUBE_WATCH_SILENT')) return { kind: 'silent' };
  const streaming = state.at === 'listing' && state.mode === 'stream';
  if (streaming && /^KUBE_(STREAM_UNSUPPORTED|INVALID|BAD_REQUEST)$/.test((error as HandoverError).code)) {
    return { kind: 'unsupported' };
  }
  const cause = apiCause(error);
  if (cause === undefined) return { kind: isCode(error, 'KUBE_UNAVAILABLE') ? 'unreachable' : 'refused' };
  // A server whose store was restored from a copy knows less than we do; its list is the truth now.
  if (isTooLargeVersion(error)) return { kind: 'gone' };
  const after = (error.cause as { details?: { retryAfterSeconds?: number } }).details?.retryAfterSeconds;
  return { kind: 'refused', ...(after === undefined ? {} : { after: after * 1000 }) };
}

function isTooLargeVersion(error: Error): boolean {
  const { details } = (error.cause ?? {}) as { details?: { causes?: readonly { reason?: string }[] } };
  return details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false;
}
