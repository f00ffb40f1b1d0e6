import type { KubeObject } from './object.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one try. Default: the client's. */
  readonly timeout?: number;
}

export interface GetRequest {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly metadataOnly?: boolean;
  readonly subresource?: string;
  readonly resourceVersion?: string;
}

export interface ListRequest {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Objects per page. Default 500; 0: everything in one answer. */
  readonly limit?: number | undefined;
  readonly metadataOnly?: boolean | undefined;
  readonly resourceVersion?: string | undefined;
}

/** One page of a list, or all of them. */
export interface List<T extends KubeObject = KubeObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

export interface CreateOptions extends WriteOptions {
  readonly namespace?: string | undefined;
  /** Such as `token` of a ServiceAccount or `eviction` of a Pod; `name` is the object. */
  readonly subresource?: string;
  readonly name?: string;
}

export interface UpdateOptions extends WriteOptions {
  readonly subresource?: string | undefined;
}

export interface PatchTarget {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
}

export interface JsonPatchStep {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/**
 * Exactly one of three. With `metadata.resourceVersion` in a merge or apply body, the write fails with KUBE_CONFLICT when the
 * object has changed since. In a JSON patch, a `test` step does the same.
 */
export type PatchBody =
  | { readonly merge: object; readonly json?: never; readonly apply?: never }
  | { readonly json: readonly JsonPatchStep[]; readonly merge?: never; readonly apply?: never }
  | { readonly apply: object; readonly merge?: never; readonly json?: never; readonly force?: boolean };

export type PatchOptions = PatchBody & WriteOptions & { readonly force?: boolean };

export interface DeleteOptions extends CallOptions {
  /** Delete only the object with this uid. */
  readonly uid?: string | undefined;
  /** Delete only this version. */
  readonly resourceVersion?: string | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly dryRun?: boolean | undefined;
}

export type WatchEvent<T extends KubeObject = KubeObject> = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
};

export interface WatchRequest extends Omit<ListRequest, 'limit'> {
  /** Begin with all existing objects, then a bookmark annotated `k8s.io/initial-events-end`. Not every server supports it. */
  readonly sendInitialEvents?: boolean | undefined;
}

export interface WatchOptions extends CallOptions {
  /** Milliseconds without a byte after which the connection counts as dead. Default 150,000: bookmarks come every minute. */
  readonly silence?: number | undefined;
  /** Seconds after which the server ends the watch. Default between 300 and 600. */
  readonly lifetime?: number | undefined;
  /** Called when the server has accepted the watch. */
  readonly opened?: (() => void) | undefined;
}

export interface RawOptions extends CallOptions {
  readonly body?: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly maxBytes?: number;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}
