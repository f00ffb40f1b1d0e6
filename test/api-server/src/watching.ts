import type { ServerResponse } from 'node:http';
import { apiVersionOf } from '@handover/kube';
import type { Clock, Timer } from '@handover/material';
import type { ApiFailure } from './api-failure.ts';
import { type ApiStore, collectionOf } from './api-store.ts';
import type { Recorded } from './history.ts';
import type { JsonObject } from './json.ts';
import type { ServedKind } from './known-kinds.ts';
import { metaOf } from './versions.ts';

export interface WatchOf {
  readonly served: ServedKind;
  readonly namespace: string | undefined;
  readonly matches: (object: JsonObject) => boolean;
  readonly view: (object: JsonObject) => JsonObject;
  /** The version to begin after; undefined: begin now. */
  readonly from: number | undefined;
  /** All existing objects come first. */
  readonly initial: boolean;
  /** A bookmark follows the existing objects. */
  readonly ended: boolean;
  readonly bookmarks: boolean;
  readonly bookmarkMs: number;
  readonly lifetimeMs: number | undefined;
  readonly clock: Clock;
}

/** One open watch. */
export class Watching {
  readonly #response: ServerResponse;
  readonly #store: ApiStore;
  readonly #of: WatchOf;
  readonly #timers: Timer[] = [];
  #off: () => void = () => undefined;
  /** Sends nothing more and stays open, like a connection after its peer has vanished. */
  silent = false;

  constructor(response: ServerResponse, store: ApiStore, of: WatchOf) {
    this.#response = response;
    this.#store = store;
    this.#of = of;
  }

  start(): void {
    const { from, initial, bookmarks, bookmarkMs, lifetimeMs, clock, served, namespace } = this.#of;
    const missed = from === undefined ? [] : this.#store.history.since(from);
    this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.flushHeaders();
    if (initial) {
      for (const object of this.#store.all(served.kind, namespace)) {
        if (this.#of.matches(object)) this.#send('ADDED', object);
      }
      if (this.#of.ended) this.bookmark({ 'k8s.io/initial-events-end': 'true' });
    }
    for (const recorded of missed) this.#tell(recorded);
    this.#off = this.#store.history.watch((recorded) => this.#tell(recorded));
    if (bookmarks) this.#timers.push(clock.every(bookmarkMs, () => this.bookmark()).unref());
    if (lifetimeMs !== undefined) this.#timers.push(clock.after(lifetimeMs, () => this.end()).unref());
    this.#response.once('close', () => this.#stop());
  }

  fail(failure: ApiFailure): void {
    this.#write({ type: 'ERROR', object: failure.toStatus() });
    this.end();
  }

  end(): void {
    this.#stop();
    this.#response.end();
  }

  #stop(): void {
    this.#off();
    for (const timer of this.#timers) timer.cancel();
  }

  #tell({ collection, before, after, version }: Recorded): void {
    const { served, namespace, matches } = this.#of;
    if (collection !== collectionOf(served.kind)) return;
    const subject = after ?? before;
    if (subject === undefined || (namespace !== undefined && metaOf(subject).namespace !== namespace)) return;
    const was = before !== undefined && matches(before);
    const is = after !== undefined && matches(after);
    if (is && after !== undefined) this.#send(was ? 'MODIFIED' : 'ADDED', after);
    else if (was && before !== undefined) {
      const metadata = { ...(before.metadata as JsonObject), resourceVersion: String(version) };
      this.#send('DELETED', { ...before, metadata });
    }
  }

  #send(type: string, object: JsonObject): void {
    this.#write({ type, object: this.#of.view(object) });
  }

  bookmark(annotations?: Readonly<Record<string, string>>): void {
    const { kind } = this.#of.served;
    const metadata = {
      resourceVersion: String(this.#store.history.version),
      creationTimestamp: null,
      ...(annotations === undefined ? {} : { annotations }),
    };
    this.#write({
      type: 'BOOKMARK',
      object: { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata },
    });
  }

  #write(event: object): void {
    if (!this.silent) this.#response.write(`${JSON.stringify(event)}\n`);
  }
}
