import type { AuthorityState, LeafSeen, ObjectSeen, Obstacle, Stamp } from '@handover/core';
import type { Certificate, Instant } from '@handover/material';
import type { HistoryStep } from '../ledger/history.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Issuer, KeyRef, Keyring } from './keyring.ts';
import type { Seal, SealKey } from './seal.ts';
import type { HomeClock, ReadSnapshot, Snapshot } from './snapshot.ts';

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
  readonly keys: ReadonlyMap<number, KeyRef>;
  /** Authenticates what is remembered about the objects made from this state. */
  readonly sealKey: SealKey;
  /** The steps that led here, oldest first. Nothing is decided on it. */
  readonly history?: readonly HistoryStep[] | undefined;
}

/** What is remembered about an object beside its data, in the same write. */
export interface ObjectRecord {
  /** SHA-256 over the data: shows whether another program changed it since. */
  readonly digest: string;
  /** Revision of each authority it was made from. */
  readonly revisions: Readonly<Record<AuthorityId, number>>;
  readonly anchors: ObjectSeen['anchors'];
  readonly changedAt: Instant;
  /** Of a bundle: which of them are each authority's, and since when these have been all of it. */
  readonly sources?: Readonly<Record<AuthorityId, SourceRecord>> | undefined;
  readonly leaf?: LeafSeen | undefined;
  /** Authority whose leaf it holds. */
  readonly issuedBy?: AuthorityId | undefined;
  /** Kubernetes' type of a Secret. */
  readonly type?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** For a TLS profile: hash of its first file, and whether there ever was another in its place. */
  readonly profile?: { readonly hash: string; readonly replacedOne: boolean } | undefined;
  /** Files of it in other formats: their names, and what they were made for. */
  readonly outputs?: { readonly print: string; readonly files: readonly string[] } | undefined;
}

export interface SourceRecord {
  readonly anchors: readonly string[];
  readonly since: Instant;
}

/** The files of an object by name. Never changed in place: what is known about one stays true. */
export type FileData = Readonly<Record<string, Uint8Array>>;

export interface Contents {
  readonly data: FileData;
  readonly record: ObjectRecord;
  /** Undefined: no authority stands behind this object. */
  readonly seal?: Seal | undefined;
}

export interface StoredObject {
  readonly version: string;
  readonly data: FileData;
  /** Undefined: not ours. */
  readonly record: ObjectRecord | undefined;
  /** The record as it was stored, and the seal on it: what the record says counts only if the seal fits. */
  readonly claim?: { readonly text: string; readonly seal: Seal } | undefined;
  /** Damage to its files that `data` does not show. */
  readonly damage?: readonly string[];
  /** Files that could not be read, whose bytes count as none: why, in a sentence. */
  readonly unread?: Readonly<Record<string, string>>;
  /** Why it cannot be written. */
  readonly obstacle?: Obstacle;
}

export interface ObjectWriter {
  /**
   * Lands only on version `expect` (undefined: must not exist yet), else `CONFLICT`. `make` is called with the time that the
   * record shall carry, as close to the moment it becomes visible as the home can tell; perhaps more than once.
   */
  write(id: ObjectId, expect: string | undefined, make: (at: Instant) => Contents): Promise<void>;
}

export interface AuthorityWriter {
  /** One compare-and-swap on the revision, else `CONFLICT`. Durable when it returns. */
  swap(id: AuthorityId, expect: number | undefined, record: AuthorityRecord): Promise<void>;
}

/** A rotation by its id, or a generation that is no longer to be trusted. */
export type Request = { readonly authority: AuthorityId } & (
  | { readonly rotate: string }
  | { readonly distrust: number }
);

export interface RequestWriter {
  /** Asks for a rotation or a distrust. Asking for the same again changes nothing. */
  ask(request: Request): Promise<void>;
  /** Takes back rotations that were asked for and have not begun. Returns their ids. */
  drop(id: AuthorityId, state: AuthorityState | undefined): Promise<readonly string[]>;
  /** Lets go of what the authority has taken up. */
  done(id: AuthorityId, state: AuthorityState): Promise<void>;
}

/** Restarts workloads that read their files only when they start, by a stamp on the template. */
export interface Rollouts {
  /** Lands only on version `expect` of the consumer's workload, else `CONFLICT`: docs/decisions/0006 §4. */
  stamp(consumer: string, expect: string, stamp: Stamp, authority: AuthorityId): Promise<void>;
}

/** Asks other programs for new leaves of objects that they write. */
export interface Reissues {
  /** Lands only on version `expect` of what is asked, else `CONFLICT`. */
  ask(object: ObjectId, expect: string, why: string): Promise<void>;
}

export interface ProfileWriter {
  /** Lands only on version `expect` of the workload, else `CONFLICT`. */
  stamp(consumer: string, expect: string, hash: string): Promise<void>;
}

/** Programs that have to be told that their files changed. */
export interface ProgramTeller {
  /** Begins to tell those that have not been told yet, and waits for none. Says when the next one is tried again. */
  tell(snapshot: Snapshot, authority: AuthorityId): Promise<Instant | undefined>;
}

/** All that reconcilers need of the world: snapshots to read from, and writers. */
export interface Home {
  /** A snapshot of what is there now, past every cache. */
  readonly fresh: ReadSnapshot;
  /**
   * A snapshot of what the home has in memory, where it follows changes. Each part may be as old as it likes, and as any other; none
   * goes back. What may be decided on it: docs/decisions/0203.
   */
  readonly cached?: ReadSnapshot | undefined;
  readonly objects: ObjectWriter;
  readonly authorities: AuthorityWriter;
  readonly requests: RequestWriter;
  readonly clock: HomeClock;
  /** Holds the CA keys. */
  readonly keyring: Keyring;
  readonly issuer: Issuer;
  readonly random: (bytes: number) => Uint8Array;
  /** Undefined: no program here has to be told. */
  readonly teller?: ProgramTeller | undefined;
  /** Undefined: this home restarts nothing. */
  readonly rollouts?: Rollouts | undefined;
  /** Undefined: no other program writes leaves of this home's authorities. */
  readonly reissues?: Reissues | undefined;
  readonly profiles?: ProfileWriter | undefined;
  /** Stated by every home. Undefined: nothing that is issued here outlives the process. */
  readonly ledger: Ledger | undefined;
  /** Whether several namespaces share the home, so that one pass carries out no more than a fair share of its plan. */
  readonly multiTenant?: boolean;
}
