import type { AuthorityState, ConsumerSeen, KeySource, Leaf, LeafSeen, ObjectSeen } from '@handover/core';
import type { Certificate, Duration, Instant, PrivateKey } from '@handover/material';
import type { Duties } from './policy-for.ts';

/** `namespace/name` of an Authority. */
export type AuthorityId = string;
/** `namespace/secrets/name` for a Leaf's Secret, `namespace/configmaps/name/key` for one key of a bundle. */
export type ObjectId = string;

/** An authority with its material: everything that one compare-and-swap replaces. */
export interface AuthorityRecord {
  readonly state: AuthorityState;
  /** Every CA and cross-certificate that the state lists, by fingerprint. */
  readonly certificates: ReadonlyMap<string, Certificate>;
  /** Keys of the generations that the state lists and has a key for. */
  readonly keys: ReadonlyMap<number, PrivateKey>;
}

/** What is remembered about an object beside its data, in the same write. */
export interface ObjectRecord {
  /** SHA-256 over the data: shows whether somebody else changed it since. */
  readonly digest: string;
  /** Revision of each authority it was made from. */
  readonly revisions: Readonly<Record<AuthorityId, number>>;
  readonly anchors: ObjectSeen['anchors'];
  readonly changedAt: Instant;
  readonly leaf?: LeafSeen | undefined;
  /** Authority whose leaf it holds. */
  readonly issuedBy?: AuthorityId | undefined;
  /** Kubernetes' type of a Secret, where somebody cares. */
  readonly type?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface Contents {
  readonly data: Readonly<Record<string, string>>;
  readonly record: ObjectRecord;
}

export interface StoredObject {
  readonly version: string;
  readonly data: Readonly<Record<string, string>>;
  /** Undefined: not ours. */
  readonly record: ObjectRecord | undefined;
  /** Why it cannot be written. */
  readonly obstacle?: string;
}

export interface ObjectReader {
  read(id: ObjectId): Promise<StoredObject | undefined>;
  /** Secrets outside `known` that hold a leaf of this authority, though nobody asks for them any more. */
  issuedBy(authority: AuthorityId, known: ReadonlySet<ObjectId>): Promise<readonly ObjectId[]>;
}

export interface ObjectWriter {
  /**
   * Lands only on version `expect` (undefined: must not exist yet), else `CONFLICT`. `make` is called with the time that the
   * record shall carry, as close to the moment it becomes visible as the home can tell; perhaps more than once.
   */
  write(id: ObjectId, expect: string | undefined, make: (at: Instant) => Contents): Promise<void>;
}

export interface AuthorityStore {
  load(id: AuthorityId): Promise<AuthorityRecord | undefined>;
  /** One compare-and-swap on the revision, else `CONFLICT`. Durable when it returns. */
  swap(id: AuthorityId, expect: number | undefined, record: AuthorityRecord): Promise<void>;
}

/** What people asked for. */
export interface RequestSource {
  pending(
    id: AuthorityId,
  ): Promise<{ readonly rotate: readonly string[]; readonly distrust: readonly number[] }>;
  /** Lets go of what has been taken up. */
  settle(id: AuthorityId, state: AuthorityState): Promise<void>;
}

export interface EvidenceSource {
  consumers(
    duties: Duties,
    record: AuthorityRecord | undefined,
    now: Instant,
  ): Promise<readonly ConsumerSeen[]>;
}

/** Since when a program has been told of what its object holds. */
export interface Told {
  readonly version: string;
  readonly anchors: ObjectSeen['anchors'];
  readonly issuer: { readonly fingerprint: string; readonly since: Instant } | undefined;
}

/** Programs that have to be told that their files changed. */
export interface ReloadHooks {
  told(id: ObjectId): Promise<Told | undefined>;
  /** Throws when the program could not be told; it is tried again. */
  tell(id: ObjectId, leaf: Leaf, seen: ObjectSeen): Promise<void>;
}

export interface Clock {
  now(): Instant;
  /** Since when it has been seen to run evenly; undefined: always. */
  steadySince(): Instant | undefined;
}

/** All that reconcilers need of the world. */
export interface Home {
  readonly objects: ObjectReader & ObjectWriter;
  readonly authorities: AuthorityStore;
  readonly requests: RequestSource;
  readonly evidence: EvidenceSource;
  readonly reloads: ReloadHooks | undefined;
  readonly clock: Clock;
  readonly keys: KeySource;
  readonly random: (bytes: number) => Uint8Array;
  readonly facts: HomeFacts;
}

export interface HomeFacts {
  readonly consumersFound: boolean;
  readonly cacheLag: Duration;
  /** Namespace that TrustBundles may take Secrets and ConfigMaps from. */
  readonly trustNamespace: string;
}
