import type { ServerClock } from './clock.ts';
import type { Kind } from './kinds.ts';
import type { KubeConfig } from './kubeconfig/config.ts';
import type { KubeObject } from './object.ts';
import type {
  CallOptions,
  CreateOptions,
  DeleteOptions,
  GetRequest,
  List,
  ListRequest,
  Page,
  PatchOptions,
  PatchTarget,
  RawAnswer,
  RawOptions,
  UpdateOptions,
  WatchEvent,
  WatchOptions,
  WatchRequest,
} from './requests.ts';

/** What a fenced client asks before each write. */
export interface Fence {
  /** Changes whenever it is gained anew; undefined while it is not held. */
  readonly term: number | undefined;
  /** Told of each write under way. */
  during?<Result>(write: Promise<Result>): Promise<Result>;
}

export interface KubeReader {
  readonly config: KubeConfig;
  /** The API server's own time, by its answers. */
  readonly clock: ServerClock;
  /** Connections open now. */
  readonly connections: number;
  /** undefined when there is none. */
  get<T extends KubeObject>(kind: Kind<T>, which: GetRequest, options?: CallOptions): Promise<T | undefined>;
  /** All pages. Starts over, once, when the pages expire underway. */
  list<T extends KubeObject>(kind: Kind<T>, which?: ListRequest, options?: CallOptions): Promise<List<T>>;
  pages<T extends KubeObject>(
    kind: Kind<T>,
    which?: ListRequest,
    options?: CallOptions,
  ): AsyncGenerator<Page<T>, void, undefined>;
  /**
   * One watch request, from `resourceVersion` on: resolves when the server ends it, throws when it fails (KUBE_GONE: list
   * again). For a watch that goes on for ever use an Informer.
   */
  watch<T extends KubeObject>(
    kind: Kind<T>,
    which: WatchRequest,
    seen: (event: WatchEvent<T>) => void,
    options?: WatchOptions,
  ): Promise<void>;
  /** Whether the server has this kind. Remembered for a minute. */
  serves(group: string, version: string, plural: string, options?: CallOptions): Promise<boolean>;
}

export interface KubeWriter {
  create<T extends KubeObject>(kind: Kind<T>, object: T, options?: CreateOptions): Promise<T>;
  /** Replaces the object. Its `metadata.resourceVersion`, if there, is the fence. */
  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: UpdateOptions): Promise<T>;
  patch<T extends KubeObject>(kind: Kind<T>, which: PatchTarget, options: PatchOptions): Promise<T>;
  /** False when there was none. */
  delete<T extends KubeObject>(
    kind: Kind<T>,
    which: { readonly namespace?: string | undefined; readonly name: string },
    options?: DeleteOptions,
  ): Promise<boolean>;
}

export interface Kube extends KubeReader, KubeWriter {
  /** Any path of the API server: `/readyz`, `/version`. Throws on anything but success. */
  raw(method: string, path: string, options?: RawOptions): Promise<RawAnswer>;
  /** The same client, whose writes throw LEASE_LOST, before a byte leaves, once the lease is not held any more. */
  fenced(fence: Fence): Kube;
}
