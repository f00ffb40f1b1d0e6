import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { liesElsewhere } from './catalogue.ts';
import type { AuthorityId, AuthorityRecord, ObjectId, ObjectRecord, StoredObject } from './home.ts';
import type { Responsibilities } from './responsibilities.ts';
import type { AuthorityReader } from './snapshot.ts';

const BYTES = 32;

/** Authenticates what is remembered about objects. It lies in an authority's state, and nowhere else. */
export class SealKey {
  readonly #bytes: Buffer;

  private constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes);
  }

  static random(random: (bytes: number) => Uint8Array): SealKey {
    return new SealKey(random(BYTES));
  }

  /** Undefined: this is no such key. */
  static parse(text: string): SealKey | undefined {
    const bytes = Buffer.from(text, 'base64url');
    return bytes.length === BYTES ? new SealKey(bytes) : undefined;
  }

  /** For a state from before there were seals: the same state always gives the same key. */
  static derivedFrom(secret: string): SealKey {
    return new SealKey(new Uint8Array(hkdfSync('sha256', secret, '', 'handover seal key', BYTES)));
  }

  export(): string {
    return this.#bytes.toString('base64url');
  }

  mac(text: string): string {
    return createHmac('sha256', this.#bytes).update(text).digest('base64url');
  }

  matches(text: string, mac: string): boolean {
    const [given, own] = [Buffer.from(mac), Buffer.from(this.mac(text))];
    return given.length === own.length && timingSafeEqual(given, own);
  }

  toJSON(): string {
    return '[seal key]';
  }
}

/** Proof that the keeper of an authority's state wrote this record for this object. */
export interface Seal {
  readonly by: AuthorityId;
  readonly mac: string;
  /** Of other authorities that share the object: a record outlives the state of the one that wrote it last. */
  readonly also?: Readonly<Record<AuthorityId, string>> | undefined;
}

/** What a seal is made over: bound to the object, so that a record copied to another one is worth nothing. */
const sealedText = (id: ObjectId, record: ObjectRecord): string => `${id}\n${JSON.stringify(record)}`;

export const sealed = (
  id: ObjectId,
  record: ObjectRecord,
  by: AuthorityId,
  key: SealKey,
  others: ReadonlyMap<AuthorityId, SealKey> = new Map(),
): Seal => {
  const text = sealedText(id, record);
  const also = Object.fromEntries([...others].map(([other, one]) => [other, one.mac(text)]));
  return { by, mac: key.mac(text), ...(others.size === 0 ? {} : { also }) };
};

const macsIn = ({ by, mac, also = {} }: Seal): readonly (readonly [AuthorityId, string])[] => [
  [by, mac],
  ...Object.entries(also),
];

/** A record as it was stored, with its seal; undefined: it has none. */
export const claimOf = (
  record: ObjectRecord | undefined,
  seal: Seal | undefined,
): Pick<StoredObject, 'claim'> =>
  record === undefined || seal === undefined ? {} : { claim: { text: JSON.stringify(record), seal } };

/** As many as a TrustBundle may have sources. */
const MOST_SEALS = 100;

/** A seal as it was stored; undefined: not a seal. */
export const sealIn = (value: unknown): Seal | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  const { by, mac, also } = value as {
    readonly by?: unknown;
    readonly mac?: unknown;
    readonly also?: unknown;
  };
  if (typeof by !== 'string' || typeof mac !== 'string') return undefined;
  if (typeof also !== 'object' || also === null) return { by, mac };
  const others = Object.entries(also).filter(([, one]) => typeof one === 'string');
  return { by, mac, also: Object.fromEntries(others.slice(0, MOST_SEALS)) };
};

/** Whether one of these keys sealed what is remembered about the object. */
export const fits = (
  id: ObjectId,
  { claim }: Pick<StoredObject, 'claim'>,
  keys: ReadonlyMap<AuthorityId, SealKey>,
): boolean =>
  claim !== undefined &&
  macsIn(claim.seal).some(([by, mac]) => keys.get(by)?.matches(`${id}\n${claim.text}`, mac) === true);

/** Keys of the declared authorities that are named in the seals of these objects. */
const keysNamedIn = async (
  stored: readonly StoredObject[],
  declared: ReadonlyMap<AuthorityId, unknown>,
  authorities: AuthorityReader,
): Promise<ReadonlyMap<AuthorityId, SealKey>> => {
  const names = new Set(
    stored.flatMap(({ claim }) => (claim === undefined ? [] : macsIn(claim.seal).map(([by]) => by))),
  );
  const keys = new Map<AuthorityId, SealKey>();
  for (const name of names) {
    // A name in a claim may be made up: what is not declared is not looked for.
    if (!declared.has(name)) continue;
    // A state that cannot be read vouches for nothing; its own authority says what is wrong with it.
    const record = await authorities.load(name).catch(() => undefined);
    if (record !== undefined) keys.set(name, record.sealKey);
  }
  return keys;
};

export interface Believing {
  readonly authorities: AuthorityReader;
  readonly declared: ReadonlyMap<AuthorityId, unknown>;
  readonly record: AuthorityRecord | undefined;
  readonly responsibilities: Responsibilities;
}

/**
 * Objects with the records that can be believed. A record is a claim of anyone who can write its object: without a seal that fits,
 * nothing in it counts, and the object is looked at as if another program had made it. A state is loaded because a seal names it only
 * where a neighbour cannot write the seal: an object of the authority's own namespace may have been another authority's before.
 */
export async function believed(
  stored: ReadonlyMap<ObjectId, StoredObject>,
  { authorities, declared, record, responsibilities }: Believing,
): Promise<Map<ObjectId, StoredObject>> {
  const { id, leaves, bundles } = responsibilities;
  const own = new Map(record === undefined ? [] : [[id, record.sealKey] as const]);
  const vouchedFor = (object: ObjectId, found: StoredObject): boolean =>
    fits(object, found, own) || fits(object, found, bundles.get(object)?.sealKeys ?? new Map());
  const mayHaveMoved = (object: ObjectId): boolean =>
    (leaves.has(object) || bundles.has(object)) && !liesElsewhere(object, responsibilities);
  const doubtful = [...stored].filter(
    ([object, found]) => found.record !== undefined && !vouchedFor(object, found),
  );
  const moved = doubtful.filter(([object]) => mayHaveMoved(object));
  const others = await keysNamedIn(
    moved.map(([, found]) => found),
    declared,
    authorities,
  );
  const before = new Set(moved.flatMap(([object, found]) => (fits(object, found, others) ? [object] : [])));
  const all = new Map(stored);
  for (const [object, found] of doubtful) if (!before.has(object)) all.set(object, withoutRecord(found));
  return all;
}

const stripped = new WeakMap<StoredObject, StoredObject>();

/** The same answer for the same object, by which the engine knows that it has seen it before. */
const withoutRecord = (stored: StoredObject): StoredObject => {
  const known = stripped.get(stored) ?? { ...stored, record: undefined };
  stripped.set(stored, known);
  return known;
};
