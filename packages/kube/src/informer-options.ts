import type { KubeObject } from './object.ts';
import type { Indexes, StoreChange } from './store.ts';
import type { WatchState } from './watch-state.ts';

export interface InformerOptions<O extends KubeObject, T> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Read and keep only metadata. */
  readonly metadataOnly?: boolean | undefined;
  /**
   * What to keep of an object; undefined: nothing. Called once per change. Default: the whole object without its managed
   * fields.
   */
  readonly project?: ((object: O) => T | undefined) | undefined;
  readonly indexes?: Indexes<T> | undefined;
  /** Milliseconds without a byte after which the connection counts as dead. Default 150,000. */
  readonly silence?: number | undefined;
  /**
   * Seconds, plus or minus a third, after which a watch is opened again where it stopped. With a slightly longer `silence`, a
   * dead connection is found within that time. Default: 300 to 600.
   */
  readonly lifetime?: number | undefined;
  /** Default `stream`; falls back to `pages` when the server has no streaming lists. */
  readonly lists?: 'stream' | 'pages' | undefined;
}

export interface InformerState {
  readonly phase: WatchState['at'];
  readonly synced: boolean;
  readonly objects: number;
  readonly resourceVersion: string | undefined;
  /** Consecutive failures. */
  readonly failures: number;
  readonly lastError: Error | undefined;
  /** Number of complete lists so far. */
  readonly lists: number;
  /** Number of watches opened so far. */
  readonly watches: number;
  /** Milliseconds since the server last sent something; undefined before that. */
  readonly silentFor: number | undefined;
}

export interface InformerEvents<T> {
  changed: StoreChange<T>;
  synced: undefined;
  /** For logs: the informer continues without help. */
  trouble: Error;
}
