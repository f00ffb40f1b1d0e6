import type { HandoverError } from '@handover/material';
import { KubeError } from './error.ts';
import type { ResourceKind } from './kinds.ts';
import { type KubeObject, objectKeyOf } from './object.ts';
import type { WatchEvent } from './requests.ts';
import { type Indexes, Store, type StoreChange } from './store.ts';

/** A list while it is being read: version and projected value by key. */
export type Draft<T> = Map<string, readonly [string, T]>;

export interface ProjectionOptions<O extends KubeObject, T> {
  readonly kind: ResourceKind<O>;
  readonly project: ((object: O) => T | undefined) | undefined;
  readonly indexes: Indexes<T> | undefined;
  readonly changed: (change: StoreChange<T>) => void;
  readonly unreadable: (error: HandoverError) => void;
}

function withoutManagedFields<O extends KubeObject>(object: O): O {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The projected objects of one kind. Reports every difference that a list or an event makes. */
export class Projection<O extends KubeObject, T> {
  readonly store: Store<T>;
  readonly #options: ProjectionOptions<O, T>;

  constructor(options: ProjectionOptions<O, T>) {
    this.#options = options;
    this.store = new Store(options.indexes);
  }

  /** Adds to a list that is still incomplete. */
  collect(draft: Draft<T>, object: O): void {
    const value = this.#project(object);
    if (value !== undefined) draft.set(objectKeyOf(object), [object.metadata.resourceVersion ?? '', value]);
  }

  /** The list is complete: the store becomes the list. Objects that disappeared without an event are reported too. */
  replace(draft: Draft<T>): void {
    for (const key of this.store.keys()) if (!draft.has(key)) this.#set(key, '', undefined);
    for (const [key, [version, value]] of draft) this.#set(key, version, value);
  }

  take({ type, object }: WatchEvent<O>): void {
    if (type === 'BOOKMARK') return;
    const value = type === 'DELETED' ? undefined : this.#project(object);
    this.#set(objectKeyOf(object), object.metadata.resourceVersion ?? '', value);
  }

  /** The object was read again: what is kept of it may be another part now. */
  retake(object: O): void {
    this.#set(objectKeyOf(object), object.metadata.resourceVersion ?? '', this.#project(object), true);
  }

  #set(key: string, version: string, value: T | undefined, again = false): void {
    const change = this.store.set(key, version, value, again);
    if (change !== undefined) this.#options.changed(change);
  }

  /** One object must not stop the watch of all others: when `project` throws, the object is left out and reported. */
  #project(object: O): T | undefined {
    const { project, kind, unreadable } = this.#options;
    if (project === undefined) return withoutManagedFields(object) as unknown as T;
    try {
      return project(object);
    } catch (cause) {
      const message = `${kind.kind} ${objectKeyOf(object)} cannot be read; the informer leaves it out`;
      unreadable(new KubeError('KUBE_OBJECT_UNREADABLE', message, { cause }));
      return undefined;
    }
  }
}
