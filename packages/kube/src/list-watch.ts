import { KubeError } from './error.ts';
import type { InformerOptions } from './informer-options.ts';
import type { ResourceKind } from './kinds.ts';
import type { KubeReader } from './kube.ts';
import { type KubeObject, objectKeyOf } from './object.ts';
import type { Draft, Projection } from './projection.ts';
import type { WatchEvent } from './requests.ts';
import { anyOf } from './wait.ts';
import type { ListMode, Resumable, WatchInput } from './watch-state.ts';

/** A watch that ends sooner than this without an event was not a success. */
const BARREN_MS = 1_000;
/** Silence in the middle of a streaming list after which the list is read in pages. */
const STREAM_MS = 30_000;
const INITIAL_END = 'k8s.io/initial-events-end';
const LISTED = new Error('the list is complete');

export interface ListWatchOptions<O extends KubeObject, T> {
  readonly kube: KubeReader;
  readonly kind: ResourceKind<O>;
  readonly informer: InformerOptions<O, T>;
  readonly projection: Projection<O, T>;
  readonly input: (input: WatchInput) => void;
  /** The projection equals a complete list. */
  readonly listed: () => void;
}

/** Carries out the states `listing` and `watching`: one list, or one watch, of the API server. */
export class ListWatch<O extends KubeObject, T> {
  readonly #options: ListWatchOptions<O, T>;
  lists = 0;
  watches = 0;
  /** When the server last sent something, by the monotonic clock. */
  heard: number | undefined;

  constructor(options: ListWatchOptions<O, T>) {
    this.#options = options;
  }

  run(state: Resumable, signal: AbortSignal): Promise<void> {
    if (state.at === 'watching') return this.#watch(state.from, signal);
    return state.mode === 'stream' ? this.#streamAll(signal) : this.#listAll(state.mode, signal);
  }

  async #listAll(mode: ListMode, signal: AbortSignal): Promise<void> {
    const { kube, kind, projection } = this.#options;
    const draft: Draft<T> = new Map();
    const which = { ...this.#which(), ...(mode === 'whole' ? { limit: 0 } : {}) };
    let version = '';
    for await (const page of kube.pages(kind, which, { signal })) {
      version ||= page.resourceVersion;
      for (const object of page.items) projection.collect(draft, object);
      this.heard = this.#now();
    }
    this.#listed(draft, version);
  }

  /** The list as the beginning of a watch. Each object is in memory once, and only until it is projected. */
  async #streamAll(signal: AbortSignal): Promise<void> {
    const { kube, kind, informer, projection } = this.#options;
    let draft: Draft<T> | undefined = new Map();
    const own = anyOf(signal);
    const stuck = () => own.abort(new KubeError('KUBE_STREAM_UNSUPPORTED', 'the streaming list did not end'));
    const timer = kube.clock.after(STREAM_MS, stuck);
    const seen = (event: WatchEvent<O>) => {
      if (draft === undefined) return this.#take(event);
      this.heard = this.#now();
      timer.refresh();
      const { type, object } = event;
      if (type === 'BOOKMARK') {
        if (object.metadata.annotations?.[INITIAL_END] !== 'true') return;
        timer.cancel();
        this.#listed(draft, object.metadata.resourceVersion ?? '');
        draft = undefined;
        // A list may take any time. Only the watch after it has a short lifetime.
        if (informer.lifetime !== undefined) own.abort(LISTED);
      } else if (type === 'DELETED') draft.delete(objectKeyOf(object));
      else projection.collect(draft, object);
    };
    const began = this.#now();
    try {
      const which = { ...this.#which(), sendInitialEvents: true };
      await kube.watch(kind, which, seen, this.#watchOptions(own.signal));
    } catch (error) {
      if (own.signal.reason !== LISTED || signal.aborted) throw error;
      return;
    } finally {
      timer.cancel();
      own.done();
    }
    this.#options.input({
      is: 'ended',
      barren: draft !== undefined || this.#now() - began < BARREN_MS,
    });
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { kube, kind, input } = this.#options;
    const began = this.#now();
    let events = 0;
    const seen = (event: WatchEvent<O>) => {
      events++;
      this.#take(event);
    };
    const options = { ...this.#watchOptions(signal), lifetime: this.#lifetime() };
    await kube.watch(kind, { ...this.#which(), resourceVersion: from }, seen, options);
    input({ is: 'ended', barren: events === 0 && this.#now() - began < BARREN_MS });
  }

  #listed(draft: Draft<T>, version: string): void {
    const { projection, input, listed } = this.#options;
    this.lists++;
    input({ is: 'listed', version });
    projection.replace(draft);
    listed();
  }

  #take(event: WatchEvent<O>): void {
    this.heard = this.#now();
    this.#options.projection.take(event);
    const { resourceVersion = '' } = event.object.metadata;
    if (resourceVersion !== '') this.#options.input({ is: 'progressed', version: resourceVersion });
  }

  #lifetime(): number | undefined {
    const { lifetime } = this.#options.informer;
    if (lifetime === undefined) return undefined;
    return Math.max(1, Math.round(lifetime * (2 / 3 + (Math.random() * 2) / 3)));
  }

  #now(): number {
    return this.#options.kube.clock.monotonic();
  }

  #which() {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = this.#options.informer;
    return { namespace, labelSelector, fieldSelector, metadataOnly };
  }

  #watchOptions(signal: AbortSignal) {
    const opened = () => {
      this.watches++;
      this.heard = this.#now();
    };
    return { signal, silence: this.#options.informer.silence, opened };
  }
}
