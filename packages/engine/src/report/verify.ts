import type { Action } from '@handover/core';
import { type Certificate, type HandoverError, type Instant, verifyChain } from '@handover/material';
import { reconcile } from '../controller/reconcile.ts';
import { EngineError } from '../error.ts';
import { type Observation, observeWithRetry } from '../observe/observe.ts';
import type {
  AuthorityId,
  AuthorityRecord,
  AuthorityWriter,
  Contents,
  Home,
  ObjectId,
  ObjectWriter,
  StoredObject,
} from '../snapshot/home.ts';
import { trialKeyring } from '../snapshot/local-key.ts';
import { claimOf } from '../snapshot/seal.ts';
import {
  type AuthorityReader,
  type ObjectReader,
  type RecordedObject,
  type Requests,
  readSnapshot,
  type Snapshot,
} from '../snapshot/snapshot.ts';
import { bundleKeyOf, readableCertificates } from '../snapshot/stored-object.ts';
import { type Damage, damageIn } from './damage.ts';
import { type Trust, trustBetween } from './trust-matrix.ts';

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

export interface Answer {
  readonly ok: boolean;
  readonly reason?: string;
}

export interface TrustMatrix extends Trust {
  readonly authority: AuthorityId;
  /** The next step; empty: there is none. */
  readonly step: readonly string[];
  /** What is wrong with the objects of now, besides pairs that fail. */
  readonly problems: readonly Damage[];
  /** Declared and found consumers that verify with an object. */
  readonly readers: ReadonlyMap<ObjectId, readonly string[]>;
}

export interface Material {
  readonly chains: ReadonlyMap<ObjectId, readonly Certificate[]>;
  readonly bundles: ReadonlyMap<ObjectId, readonly Certificate[]>;
  readonly purposes: ReadonlyMap<ObjectId, readonly ('server' | 'client')[]>;
}

/** A home over one look, in which nothing that is done stays: objects and authorities live in memory on top of what was seen. */
export const dryRun = (home: Home, snapshot: Snapshot, asked: Partial<Requests> = {}): Home => {
  const objects = new MemoryObjects(() => snapshot.clock.now(), snapshot.objects);
  const authorities = new MemoryAuthorities(snapshot.authorities);
  const pending = async (id: AuthorityId): Promise<Requests> => {
    const { rotate, distrust } = await snapshot.requests.pending(id);
    return {
      rotate: [...rotate, ...(asked.rotate ?? [])],
      distrust: [...new Set([...distrust, ...(asked.distrust ?? [])])],
    };
  };
  const readers = { ...snapshot, objects, authorities, requests: { pending }, hooks: undefined };
  return {
    ...home,
    fresh: () => readSnapshot(readers, () => snapshot.catalogue),
    cached: undefined,
    multiTenant: false,
    keyring: trialKeyring(home.keyring),
    objects,
    authorities,
    requests: { ask: async () => {}, drop: async () => [], done: async () => {} },
    teller: undefined,
    rollouts: { stamp: async () => {} },
    ledger: undefined,
  };
};

/** What the objects of one look hold, as far as it can be read. */
export const materialIn = ({
  responsibilities,
  stored,
}: Pick<Observation, 'responsibilities' | 'stored'>): Material => {
  const chains = new Map<ObjectId, readonly Certificate[]>();
  const bundles = new Map<ObjectId, readonly Certificate[]>();
  for (const [object, { data }] of stored) {
    const chain = readableCertificates(data['tls.crt']);
    if (chain.length > 0) chains.set(object, chain);
    const anchors = readableCertificates(data[bundleKeyOf(object)]);
    if (anchors.length > 0) bundles.set(object, anchors);
  }
  const purposes = new Map(
    [...responsibilities.leaves].map(([object, leaf]) => [object, leaf.spec.usages] as const),
  );
  return { chains, bundles, purposes };
};

/** Each chain is checked once against each distinct bundle: many objects hold the same few bundles. */
export type Verdicts = Map<string, Answer>;

/** The same for the same certificates in the same order. */
export const certificatesKey = (certificates: readonly Certificate[]): string =>
  certificates.map(({ fingerprint }) => fingerprint).join();

/** Whether a chain verifies against a bundle, for every usage of its leaf. A missing chain or bundle fails nothing. */
export const answer = (
  verdicts: Verdicts,
  chain: readonly Certificate[] | undefined,
  anchors: readonly Certificate[] | undefined,
  purposes: readonly ('server' | 'client')[],
  at: Instant,
): Answer => {
  if (chain === undefined || anchors === undefined) return { ok: true };
  const asked = `${certificatesKey(chain)}|${certificatesKey(anchors)}|${purposes.join()}`;
  const known = verdicts.get(asked);
  if (known !== undefined) return known;
  let found: Answer = { ok: true };
  for (const purpose of purposes) {
    const verdict = verifyChain({ chain, anchors, at, purpose });
    if (!verdict.ok) found = { ok: false, reason: `${verdict.code}: ${verdict.reason}` };
  }
  verdicts.set(asked, found);
  return found;
};

const NAMED = 3;
/** The writes that are due now; those that follow a step are part of it. */
const dueWrites = (actions: readonly Action[]): readonly string[] => {
  const due = actions.flatMap((action) =>
    action.kind === 'write-bundle' || action.kind === 'write-leaf' ? [action.object] : [],
  );
  if (due.length === 0) return [];
  const rest = due.length > NAMED ? ` and ${due.length - NAMED} more` : '';
  return [`write ${due.slice(0, NAMED).join(', ')}${rest}`];
};

/**
 * Every presenter against every verifier: with their files of now, and after the next step, when each of them may or may not have
 * loaded its new files. `was`: the files of before, if they may have changed since.
 */
export async function verifyAuthority(
  home: Home,
  snapshot: Snapshot,
  id: AuthorityId,
  asked?: Partial<Requests>,
  was?: Material,
): Promise<TrustMatrix> {
  const trial = dryRun(home, snapshot, asked);
  const observation = await observeWithRetry(trial.fresh, id);
  const before = was ?? materialIn(observation);
  const step: string[] = [];
  for (let passes = 0; passes < 64; passes++) {
    const { plan: made } = await reconcile(trial, id);
    if (made.actions.length === 0) break;
    if (passes === 0) step.push(...dueWrites(made.actions));
    for (const action of made.actions)
      if (!action.kind.startsWith('write-')) step.push(`${action.kind}: ${action.why}`);
  }
  const after = materialIn(await observeWithRetry(trial.fresh, id));
  const problems = damageIn(observation);
  const readers = new Map<ObjectId, string[]>();
  for (const { id: consumer, verifies } of observation.seen.consumers)
    for (const object of verifies) readers.set(object, [...(readers.get(object) ?? []), consumer]);
  return { authority: id, step, problems, readers, ...trustBetween(before, after, snapshot.clock.now()) };
}
