import type { HandoverError, Instant } from '@handover/material';
import { EngineError } from '../error.ts';
import type {
  AuthorityId,
  AuthorityRecord,
  AuthorityWriter,
  Contents,
  ObjectId,
  ObjectWriter,
  StoredObject,
} from '../snapshot/home.ts';
import { claimOf } from '../snapshot/seal.ts';
import type { AuthorityReader, ObjectReader, RecordedObject } from '../snapshot/snapshot.ts';

const conflict = (path: string): HandoverError =>
  new EngineError('CONFLICT', `${path} changed in the meantime; read it again`, { retry: 'now', path });

/** Objects in memory, on top of those of a look: a plan can be tried without changing anything. */
export class MemoryObjects implements ObjectReader, ObjectWriter {
  readonly #under: ObjectReader | undefined;
  readonly #now: () => Instant;
  readonly #objects = new Map<ObjectId, StoredObject>();
  #versions = 0;
  /** Ids in the order they were written. */
  readonly writes: ObjectId[] = [];

  constructor(now: () => Instant, under?: ObjectReader) {
    this.#now = now;
    this.#under = under;
  }

  async read(id: ObjectId): Promise<StoredObject | undefined> {
    return this.#objects.get(id) ?? (await this.#under?.read(id));
  }

  async issuedBy(authority: AuthorityId, known: ReadonlySet<ObjectId>): Promise<readonly ObjectId[]> {
    const own = [...this.#objects]
      .filter(([id, { record }]) => record?.issuedBy === authority && !known.has(id))
      .map(([id]) => id);
    return [...new Set([...own, ...((await this.#under?.issuedBy(authority, known)) ?? [])])];
  }

  async recorded(): Promise<readonly RecordedObject[]> {
    return (await this.#under?.recorded?.()) ?? [];
  }

  async write(id: ObjectId, expect: string | undefined, make: (at: Instant) => Contents): Promise<void> {
    if ((await this.read(id))?.version !== expect) throw conflict(id);
    this.put(id, make(this.#now()));
    this.writes.push(id);
  }

  /** Writes past every check, as another program would. */
  put(id: ObjectId, { data, record, seal }: Partial<Contents> & Pick<Contents, 'data'>): void {
    this.#objects.set(id, { data, record, version: `m${++this.#versions}`, ...claimOf(record, seal) });
  }
}

/** Authorities in memory, over those of a look. */
export class MemoryAuthorities implements AuthorityReader, AuthorityWriter {
  readonly #under: AuthorityReader | undefined;
  readonly #records = new Map<AuthorityId, AuthorityRecord>();

  constructor(under?: AuthorityReader) {
    this.#under = under;
  }

  async load(id: AuthorityId): Promise<AuthorityRecord | undefined> {
    return this.#records.get(id) ?? (await this.#under?.load(id));
  }

  async swap(id: AuthorityId, expect: number | undefined, record: AuthorityRecord): Promise<void> {
    if ((await this.load(id))?.state.revision !== expect) throw conflict(id);
    this.#records.set(id, record);
  }
}
