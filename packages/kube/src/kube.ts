import type { Clock } from '@handover/material';
import type { ServerClock } from './clock.ts';
import type { ResourceKind } from './kinds.ts';
import type { KubeConfig } from './kubeconfig/config.ts';
import type { KubeObject } from './object.ts';
import type {
  CallOptions,
  CreateOptions,
  DeleteOptions,
  GetRequest,
  List,
  ListRequest,
  PatchOptions,
  PatchTarget,
  RawAnswer,
  RawOptions,
  UpdateOptions,
  WatchEvent,
  WatchOptions,
  WatchRequest,
} from './requests.ts';

/** Decides before each write of a fenced client whether it may leave. */
export interface Fence {
  /** The current term; undefined while the lease is not held. */
  readonly term: number | undefined;
  /** Called with each write that has begun. */
  during?<Result>(write: Promise<Result>): Promise<Result>;
}

export interface KubeReader {
  readonly config: KubeConfig;
  /** The API server's time, from its answers. */
  readonly serverClock: ServerClock;
  /** This process's time. */
  readonly clock: Clock;
  /** Connections open now. */
  readonly connections: number;
  /** undefined when the object does not exist. */
  get<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: GetRequest,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** All pages. Starts again, once, when the pages expire in between. */
  list<T extends KubeObject>(
    kind: ResourceKind<T>,
    which?: ListRequest,
    options?: CallOptions,
  ): Promise<List<T>>;
  pages<T extends KubeObject>(
    kind: ResourceKind<T>,
    which?: ListRequest,
    options?: CallOptions,
  ): AsyncGenerator<List<T>, void, undefined>;
  /**
   * One watch request, from `resourceVersion` on. Resolves when the server ends it, throws when it fails (KUBE_GONE: list
   * again). For a watch that continues after errors, use an Informer.
   */
  watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: WatchRequest,
    seen: (event: WatchEvent<T>) => void,
    options?: WatchOptions,
  ): Promise<void>;
  /** Whether the server has this kind. The answer is cached for a minute. */
  serves(group: string, version: string, plural: string, options?: CallOptions): Promise<boolean>;
}

export interface KubeWriter {
  create<T extends KubeObject>(kind: ResourceKind<T>, object: T, options?: CreateOptions): Promise<T>;
  /** Replaces the object. With `metadata.resourceVersion`, only that version. */
  update<T extends KubeObject>(kind: ResourceKind<T>, object: T, options?: UpdateOptions): Promise<T>;
  patch<T extends KubeObject>(kind: ResourceKind<T>, which: PatchTarget, options: PatchOptions): Promise<T>;
  /** False when the object did not exist. */
  delete<T extends KubeObject>(
    kind: ResourceKind<T>,
    which: { readonly namespace?: string | undefined; readonly name: string },
    options?: DeleteOptions,
  ): Promise<boolean>;
}

export interface Kube extends KubeReader, KubeWriter {
  /** Any path of the API server, such as `/readyz` or `/version`. Throws unless the answer is a success. */
  raw(method: string, path: string, options?: RawOptions): Promise<RawAnswer>;
  /** The same client, but its writes throw LEASE_LOST before a byte leaves while the lease is not held. */
  fenced(fence: Fence): Kube;
}
