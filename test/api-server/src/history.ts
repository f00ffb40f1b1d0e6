import { ApiFailure, expired } from './api-failure.ts';
import type { JsonObject } from './json.ts';

/** One change, with the object before it: a selector may see it enter or leave. */
export interface Recorded {
  readonly version: number;
  readonly collection: string;
  readonly before: JsonObject | undefined;
  readonly after: JsonObject | undefined;
}

const LONGEST = 20_000;

function stamped(object: JsonObject | undefined, version: number): JsonObject | undefined {
  if (object === undefined) return undefined;
  const metadata = { ...(object.metadata as JsonObject), resourceVersion: String(version) };
  return { ...object, metadata };
}

/** The changes of all objects, in order, as etcd keeps them. */
export class History {
  readonly #watchers = new Set<(recorded: Recorded) => void>();
  #changes: Recorded[] = [];
  #version = 1000;
  /** Changes up to this version are forgotten. */
  #forgotten = 1000;

  get version(): number {
    return this.#version;
  }

  /** Gives the change a version, and tells it to every watcher. */
  add(collection: string, before: JsonObject | undefined, after: JsonObject | undefined): Recorded {
    const version = ++this.#version;
    const recorded = {
      version,
      collection,
      before: after === undefined ? stamped(before, version) : before,
      after: stamped(after, version),
    };
    this.#changes.push(recorded);
    if (this.#changes.length > LONGEST) {
      this.#forgotten = this.#changes[LONGEST / 2]?.version ?? this.#forgotten;
      this.#changes = this.#changes.slice(LONGEST / 2 + 1);
    }
    for (const watcher of this.#watchers) watcher(recorded);
    return recorded;
  }

  /** The changes after `version`; throws 410 when they are forgotten. */
  since(version: number): readonly Recorded[] {
    if (version < this.#forgotten) throw expired(`${version} (${this.#forgotten})`);
    if (version > this.#version) {
      const message = `Too large resource version: ${version}, current: ${this.#version}`;
      const cause = { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' };
      throw new ApiFailure(504, 'Timeout', message, { causes: [cause], retryAfterSeconds: 1 });
    }
    return this.#changes.filter((recorded) => recorded.version > version);
  }

  watch(watcher: (recorded: Recorded) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Every version until now is 410 from here on. */
  compact(): void {
    this.#forgotten = this.#version;
    this.#changes = [];
  }
}
