import { type Clock, type HandoverError, Listeners } from '@handover/material';
import { type ApiStatus, aborted, apiCause } from './api-error.ts';
import { isCode, KubeError } from './error.ts';
import type { InformerEvents, InformerOptions, InformerState } from './informer-options.ts';
import type { ResourceKind } from './kinds.ts';
import type { KubeReader } from './kube.ts';
import { ListWatch } from './list-watch.ts';
import type { KubeObject } from './object.ts';
import { Projection } from './projection.ts';
import { anyOf } from './wait.ts';
import { step, type WatchError, type WatchInput, type WatchState } from './watch-state.ts';

const NO_STREAM = ['KUBE_STREAM_UNSUPPORTED', 'KUBE_INVALID', 'KUBE_BAD_REQUEST'];

/** What an error means to the state machine of a watch. An unknown error is a refusal: wait and try again. */
function classifyWatchError(error: Error, state: WatchState): WatchError {
  if (isCode(error, 'KUBE_GONE')) return { kind: 'gone' };
  if (isCode(error, 'KUBE_WATCH_SILENT')) return { kind: 'silent' };
  const streaming = state.at === 'listing' && state.mode === 'stream';
  if (streaming && NO_STREAM.includes((error as HandoverError).code)) return { kind: 'unsupported' };
  if (apiCause(error) === undefined)
    return { kind: isCode(error, 'KUBE_UNAVAILABLE') ? 'unreachable' : 'refused' };
  const { causes, retryAfterSeconds } = (error.cause as ApiStatus).details ?? {};
  // A server restored from a backup has lower versions than this informer. Its list is the truth now.
  if (causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge')) return { kind: 'gone' };
  return {
    kind: 'refused',
    ...(retryAfterSeconds === undefined ? {} : { after: retryAfterSeconds * 1000 }),
  };
}

/** An informer, whatever it keeps. */
export type AnyInformer = Pick<Informer, 'ready' | 'synced'> & { start(signal: AbortSignal): unknown };

/** A local store that follows the server's list. No error ends it; it lists and watches again until it is stopped. */
export class Informer<O extends KubeObject = KubeObject, T = O> {
  /** Resolves once the store equals a complete list; rejects when the informer is stopped before. */
  readonly ready: Promise<void>;
  readonly #about: string;
  readonly #clock: Clock;
  readonly #kube: KubeReader;
  readonly #kind: ResourceKind<O>;
  readonly #options: InformerOptions<O, T>;
  readonly #projection: Projection<O, T>;
  readonly #listWatch: ListWatch<O, T>;
  readonly #listeners = new Listeners<InformerEvents<T>>();
  readonly #stop = new AbortController();
  #state: WatchState = { at: 'idle' };
  #synced = false;
  #lastError: Error | undefined;
  #settle: { resolve(): void; reject(error: Error): void };

  constructor(kube: KubeReader, kind: ResourceKind<O>, options: InformerOptions<O, T> = {}) {
    this.#about = `informer of ${kind.plural}`;
    this.#clock = kube.clock;
    this.#kube = kube;
    this.#kind = kind;
    this.#options = options;
    this.#projection = new Projection({
      kind,
      project: options.project,
      indexes: options.indexes,
      changed: (change) => this.#listeners.emit('changed', change),
      unreadable: (error) => this.#listeners.emit('trouble', error),
    });
    this.#listWatch = new ListWatch({
      kube,
      kind,
      informer: options,
      projection: this.#projection,
      input: (input) => this.#input(input),
      listed: () => this.#listed(),
    });
    this.#settle = { resolve: () => undefined, reject: () => undefined };
    this.ready = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // A rejection that no caller awaits must not end the process.
    this.ready.catch(() => undefined);
  }

  /** True after the first complete list. */
  get synced(): boolean {
    return this.#synced;
  }

  get size(): number {
    return this.#projection.store.size;
  }

  get state(): InformerState {
    const state = this.#state;
    const active = state.at === 'waiting' ? state.next : state;
    const { lists, watches, heard } = this.#listWatch;
    return {
      phase: state.at,
      synced: this.#synced,
      objects: this.size,
      resourceVersion: active.at === 'watching' ? active.from : undefined,
      failures: 'failures' in active ? active.failures : 0,
      lastError: this.#lastError,
      lists,
      watches,
      silentFor: heard === undefined ? undefined : this.#clock.monotonic() - heard,
    };
  }

  /** By `namespace/name`, or by `name` for a kind without namespaces. */
  get(key: string): T | undefined {
    return this.#projection.store.get(key);
  }

  /** What it keeps of the object, where that is of this version. */
  unchanged(key: string, version: string): T | undefined {
    return this.#projection.store.unchanged(key, version);
  }

  list(): T[] {
    return this.#projection.store.list();
  }

  keys(): string[] {
    return this.#projection.store.keys();
  }

  by(index: string, value: string): T[] {
    const { store } = this.#projection;
    if (!store.has(index))
      throw new KubeError('OPTION_INVALID', `the ${this.#about} has no index "${index}"`);
    return store.by(index, value);
  }

  on<Name extends keyof InformerEvents<T>>(name: Name, listener: (e: InformerEvents<T>[Name]) => void): this {
    this.#listeners.on(name, listener);
    return this;
  }

  /**
   * Reads an object that it knows once more, and projects it again: for a projection that keeps more of it than before. An event that
   * comes meanwhile is newer. `around`: called with what takes the object.
   */
  async refresh(key: string, around: (take: () => void) => void = (take) => take()): Promise<void> {
    const { store } = this.#projection;
    const version = store.versionOf(key);
    if (version === undefined) return;
    const at = key.indexOf('/');
    const object = await this.#kube.get(
      this.#kind,
      {
        name: key.slice(at + 1),
        ...(at < 0 ? {} : { namespace: key.slice(0, at) }),
        ...(this.#options.metadataOnly === true ? { metadataOnly: true } : {}),
      },
      { signal: this.#stop.signal },
    );
    if (object !== undefined && store.versionOf(key) === version)
      around(() => this.#projection.retake(object));
  }

  /** Lists and watches until `signal` aborts or `stop` is called. A second call does nothing. */
  start(signal?: AbortSignal): this {
    if (this.#state.at !== 'idle') return this;
    this.#input({ is: 'start', mode: this.#options.lists ?? 'stream' });
    void this.#run(signal);
    return this;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(until: AbortSignal | undefined): Promise<void> {
    const any = anyOf(this.#stop.signal, until);
    while (!any.signal.aborted) {
      try {
        await this.#act(any.signal);
      } catch (error) {
        if (!any.signal.aborted) this.#failed(error as Error);
      }
    }
    any.done();
    this.#input({ is: 'stop' });
    this.#settle.reject(aborted(this.#about, any.signal.reason));
  }

  async #act(signal: AbortSignal): Promise<void> {
    const state = this.#state;
    switch (state.at) {
      case 'listing':
      case 'watching':
        return this.#listWatch.run(state, signal);
      case 'waiting':
        await this.#clock.sleep(state.delay, signal);
        return this.#input({ is: 'waited' });
      case 'idle':
      case 'stopped':
        return;
      default:
        return state satisfies never;
    }
  }

  #listed(): void {
    if (this.#synced) return;
    this.#synced = true;
    this.#settle.resolve();
    this.#listeners.emit('synced', undefined);
  }

  #failed(error: Error): void {
    this.#lastError = error;
    this.#input({ is: 'failed', trouble: classifyWatchError(error, this.#state) });
    this.#listeners.emit('trouble', error);
  }

  #input(input: WatchInput): void {
    this.#state = step(this.#state, input, Math.random());
  }
}
