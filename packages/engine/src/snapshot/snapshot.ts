import type { ClockDoubt, ConsumerSeen, ObjectSeen, ProfileWorkload, TlsProfile } from '@handover/core';
import type { Certificate, Duration, HandoverError, Instant, resolveTlsProfile } from '@handover/material';
import type { Catalogue } from './catalogue.ts';
import type { AuthorityId, AuthorityRecord, ObjectId, ObjectRecord, StoredObject } from './home.ts';
import type { HookReader } from './hooks.ts';
import type { LocalKey } from './local-key.ts';
import type { OutputPreparer } from './outputs.ts';
import type { Responsibilities } from './responsibilities.ts';
import type { RunReport } from './run-report.ts';

export interface ObjectReader {
  read(id: ObjectId): Promise<StoredObject | undefined>;
  /** Why an object that does not exist cannot be created, as far as the home has found out. */
  readonly whyAbsent?: ((id: ObjectId) => string | undefined) | undefined;
  /** Secrets outside `known` that hold a leaf of this authority, though no Leaf asks for them any more. */
  issuedBy(authority: AuthorityId, known: ReadonlySet<ObjectId>): Promise<readonly ObjectId[]>;
  /** Objects that carry a record, whether or not a resource asks for them. Undefined: this home does not list them. */
  readonly recorded?: (() => Promise<readonly RecordedObject[]>) | undefined;
}

/** An object by what is remembered about it. */
export interface RecordedObject extends Pick<StoredObject, 'claim'> {
  readonly id: ObjectId;
  readonly record: ObjectRecord;
}

export interface AuthorityReader {
  load(id: AuthorityId): Promise<AuthorityRecord | undefined>;
  /** Where its state is, in words that lead a person there. */
  readonly placeOf?: (id: AuthorityId) => string;
}

/** What people asked for and the authority has not taken up yet. */
export interface Requests {
  readonly rotate: readonly string[];
  readonly distrust: readonly number[];
}

export interface RequestReader {
  pending(id: AuthorityId): Promise<Requests>;
}

/** A consumer, and the version of its workload that was seen, where the home can roll it. */
export interface ConsumerFound extends ConsumerSeen {
  readonly workloadVersion?: string | undefined;
  /** What it alone presents, and no store holds. */
  readonly own?: ObjectSeen | undefined;
}

/** Issuers of the leaves that objects hold now: the leaf's fingerprint, and that of the CA that signed it. */
export type LeafIssuers = ReadonlyMap<string, string>;

/** What objects show of the leaves of an authority. */
export interface IssuedLeaves {
  /** Secrets that hold a leaf of this authority, though no Leaf asks for them any more. */
  readonly orphans: readonly ObjectId[];
  readonly issuers: LeafIssuers;
  /** When they end, by fingerprint. */
  readonly ends?: ReadonlyMap<string, Instant>;
}

export interface EvidenceSource {
  consumers(
    responsibilities: Responsibilities,
    record: AuthorityRecord | undefined,
    now: Instant,
    issued: IssuedLeaves,
  ): Promise<readonly ConsumerFound[]>;
}

/** The TLS profile that the platform itself asks for; `missing`: why it is not known; `stale`: why it is only the last one known. */
export type ClusterProfile =
  | { readonly found: Parameters<typeof resolveTlsProfile>[0]; readonly stale?: HandoverError }
  | { readonly missing: HandoverError };

/** What a TLSProfile needs to know of a platform beside its object. */
export interface ProfileReader {
  cluster(): Promise<ClusterProfile>;
  /** Workloads that the profile selects, each with the version that was seen. */
  workloads(profile: TlsProfile): readonly (ProfileWorkload & { readonly version: string })[];
  /** Hash of what was written last, as far as the platform remembers it outside the object itself. */
  remembered(profile: TlsProfile): string | undefined;
}

export interface HomeClock {
  now(): Instant;
  /** Since when the clock has been seen to run evenly; undefined: always. */
  steadySince(): Instant | undefined;
  /** Why the clock is not believed yet, after a leap ahead. */
  readonly doubt?: () => ClockDoubt | undefined;
  /** Every time that the clock was seen to be set back. What is dated in between may be from before or from after. */
  readonly setBacks?: () => readonly SetBack[];
}

export interface SetBack {
  /** What the clock would show, had it not been set back. */
  readonly from: Instant;
  readonly to: Instant;
}

export interface HomeFacts {
  readonly consumersFound: boolean;
  /** Every namespace here has the same owner. Default: false. */
  readonly oneOwner?: boolean | undefined;
  readonly cacheLag: Duration;
  /** Where caches lag longer; undefined: no longer than `cacheLag`. */
  readonly cacheLagOf?: ((object: ObjectId) => Duration | undefined) | undefined;
  /** Namespace that TrustBundles may take Secrets and ConfigMaps from. */
  readonly trustNamespace: string;
  /** The CAs that `defaultCas` of a TrustBundle stands for, or why there are none. Default: this home has none. */
  readonly defaultCas?: (() => readonly Certificate[] | { readonly why: string }) | undefined;
  /** Whether TrustBundles may select sources by labels; none is found then if one is left with a selector. Default: false. */
  readonly selectsSources?: boolean | undefined;
  /** CAs in use whose key is not known are taken over only by `certgen --overwrite`. Default: as soon as `spec.adopt` names them. */
  readonly adoptsOnlyAsked?: boolean | undefined;
  /** When a Leaf (`namespace/name`) was asked for; undefined: not known, so that it may be old. */
  readonly askedAt?: ((leaf: string) => Instant | undefined) | undefined;
}

/** Objects with leaves of an authority that other programs write. */
export interface ExternallyHeldReader {
  /** Each with the certificates that are in it now; none that another CA signed. */
  of(
    responsibilities: Responsibilities,
    record: AuthorityRecord,
    now: Instant,
  ): Promise<readonly ObjectSeen[]>;
}

/** What a snapshot reads on demand. Each kind is listed at most once, and by one pass alone. */
export interface Readers {
  readonly objects: ObjectReader;
  readonly authorities: AuthorityReader;
  readonly requests: RequestReader;
  readonly evidence: EvidenceSource;
  /** Undefined: no other program here holds leaves of an authority. */
  readonly externallyHeld?: ExternallyHeldReader | undefined;
  readonly outputs: OutputPreparer;
  /** Undefined: this home runs no hooks. */
  readonly hooks?: HookReader | undefined;
  /** Undefined: there is no platform that asks for a TLS profile. */
  readonly profiles?: ProfileReader | undefined;
  /** What the process that works here, or the last that did, knows of itself. Undefined: this home does not record it. */
  readonly run?: (() => RunReport) | undefined;
  readonly facts: HomeFacts;
  /** Shows whether the clock was set since the snapshot began. */
  readonly clock: HomeClock;
}

/** Everything that can be read at one moment. Nothing in it writes. */
export interface Snapshot extends Readers {
  readonly now: Instant;
  readonly steadySince: Instant | undefined;
  readonly clockDoubt?: ClockDoubt | undefined;
  readonly catalogue: Catalogue;
  /** A CA that a person hands over to an authority that has none yet, in place of what its `spec.adopt` names. */
  readonly given?: { readonly authority: AuthorityId; readonly adoption: Adoption } | undefined;
}

/** CAs that an Authority's owner asked to take over, found where the owner said they are. */
export interface Adoption {
  /** Newest first, as in every bundle. */
  readonly certificates: readonly Certificate[];
  /** Key of the one CA there is. */
  readonly key?: LocalKey | undefined;
  /** Until when leaves may be in use that it signed before; undefined: none is known of. */
  readonly leavesUntil?: Instant | undefined;
  /** What was asked for and is not there: without it, beginning would leave out a CA that is to be trusted. */
  readonly missing: readonly Orphaned[];
}

/** Something that stands in the way of a first generation, and what would free it. */
export interface Orphaned {
  readonly object: ObjectId;
  readonly waitsFor: string;
}

/** Reads a new snapshot each time it is called. */
export type ReadSnapshot = () => Promise<Snapshot>;

/** A snapshot begins with the clock; the resources come next, everything else after them: docs/decisions/0006. */
export const readSnapshot = async (
  readers: Readers,
  catalogue: () => Catalogue | Promise<Catalogue>,
): Promise<Snapshot> => {
  const { clock } = readers;
  const began = { now: clock.now(), steadySince: clock.steadySince(), clockDoubt: clock.doubt?.() };
  return { ...readers, ...began, catalogue: await catalogue() };
};
