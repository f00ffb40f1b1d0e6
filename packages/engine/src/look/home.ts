import type {
  AuthorityState,
  ClockDoubt,
  ConsumerSeen,
  KeyAlgorithm,
  KeySource,
  Leaf,
  LeafSeen,
  ObjectSeen,
  PermittedNames,
  ProfileWorkload,
  Stamp,
  TlsProfile,
} from '@handover/core';
import type {
  Certificate,
  Duration,
  HandoverError,
  Instant,
  PrivateKey,
  resolveTlsProfile,
} from '@handover/material';
import type { HistoryStep } from '../ledger/history.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Catalogue } from './catalogue.ts';
import type { Responsibilities } from './responsibilities.ts';
import type { Seal, SealKey } from './seal.ts';

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
  /** Authenticates what is remembered about the objects made from this state. */
  readonly sealKey: SealKey;
  /** The steps that led here, oldest first. Nothing is decided on it. */
  readonly history?: readonly HistoryStep[] | undefined;
}

/** What is remembered about an object beside its data, in the same write. */
export interface ObjectRecord {
  /** SHA-256 over the data: shows whether somebody else changed it since. */
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
  /** Kubernetes' type of a Secret, where somebody cares. */
  readonly type?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** For a TLS profile: hash of its first file, and whether there ever was another in its place. */
  readonly profile?: { readonly hash: string; readonly replacedOne: boolean } | undefined;
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
  /** Why it cannot be written. */
  readonly obstacle?: string;
}

export interface ObjectReader {
  read(id: ObjectId): Promise<StoredObject | undefined>;
  /** Why an object that is not there cannot be made, as far as the home has found out. Undefined: it may be tried. */
  readonly whyAbsent?: ((id: ObjectId) => string | undefined) | undefined;
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

export interface AuthorityReader {
  load(id: AuthorityId): Promise<AuthorityRecord | undefined>;
}

export interface AuthorityStore extends AuthorityReader {
  /** One compare-and-swap on the revision, else `CONFLICT`. Durable when it returns. */
  swap(id: AuthorityId, expect: number | undefined, record: AuthorityRecord): Promise<void>;
}

/** What people asked for. */
export interface RequestSource {
  pending(
    id: AuthorityId,
  ): Promise<{ readonly rotate: readonly string[]; readonly distrust: readonly number[] }>;
  /** Lets go of what has been taken up. */
  done(id: AuthorityId, state: AuthorityState): Promise<void>;
}

/** A consumer, and the version of its workload that was seen, where the home can roll it. */
export interface ConsumerFound extends ConsumerSeen {
  readonly workloadVersion?: string | undefined;
}

export interface EvidenceSource {
  /** `orphans`: Secrets that hold a leaf of this authority, though no Leaf asks for them any more. */
  consumers(
    responsibilities: Responsibilities,
    record: AuthorityRecord | undefined,
    now: Instant,
    orphans: readonly ObjectId[],
  ): Promise<readonly ConsumerFound[]>;
}

/** Restarts what reads its files only when it starts, by a stamp on its template. */
export interface Rollouts {
  /** Lands only on version `expect` of the consumer's workload, else `CONFLICT`: docs/decisions/0006 §4. */
  stamp(consumer: string, expect: string, stamp: Stamp, authority: AuthorityId): Promise<void>;
}

/** What the platform itself asks for in matters of TLS; `missing`: why that is not known. */
export type ClusterProfile =
  | { readonly found: Parameters<typeof resolveTlsProfile>[0] }
  | { readonly missing: HandoverError };

/** All that a TLSProfile needs of a platform beside its object. */
export interface ProfilePlatform {
  cluster(): Promise<ClusterProfile>;
  /** Workloads that it selects, each with the version that was seen. */
  workloads(profile: TlsProfile): readonly (ProfileWorkload & { readonly version: string })[];
  /** Lands only on version `expect` of the workload, else `CONFLICT`. */
  stamp(consumer: string, expect: string, hash: string): Promise<void>;
  /** Hash of what was written last, as far as anybody remembers it who is not the object itself. */
  remembered(profile: TlsProfile): string | undefined;
}

/** A certificate and its private key. */
export interface Credential {
  readonly certificate: Certificate;
  readonly key: PrivateKey;
}

interface Validity {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** Whoever makes keys and signs. Dates may come out earlier than asked, never later: what was made is what counts. */
export interface Issuer {
  ca(
    asked: {
      readonly name: string;
      readonly namespace: string;
      readonly generation: number;
      readonly key: KeyAlgorithm;
      /** Names that it may sign; undefined: any. */
      readonly nameConstraints?: PermittedNames | undefined;
    } & Validity,
  ): Promise<Credential>;
  /** X(subject by by). */
  cross(asked: { readonly subject: Certificate; readonly by: Credential } & Validity): Promise<Certificate>;
  leaf(asked: { readonly leaf: Leaf; readonly by: Credential } & Validity): Promise<Credential>;
}

/** The resources as they are now, past every cache. */
export interface ResourceReader {
  catalogue(): Promise<Catalogue>;
}

/**
 * What a home has in memory already and may be behind on. Each part may be as old as it likes, and as any other; none goes
 * back. What may be decided on it: docs/decisions/0203.
 */
export interface CachedView {
  readonly objects: ObjectReader;
  readonly authorities: AuthorityReader;
  readonly requests: Pick<RequestSource, 'pending'>;
  readonly evidence: EvidenceSource;
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
  /** Why it is not believed yet, after a leap ahead. */
  readonly doubt?: () => ClockDoubt | undefined;
  /** Every time that it was seen to be set back. What is dated in between may be from before or from after. */
  readonly setBacks?: () => readonly SetBack[];
}

export interface SetBack {
  /** What it would show, had it not been set back. */
  readonly from: Instant;
  readonly to: Instant;
}

/** All that reconcilers need of the world. Whatever is read from it directly is uncached. */
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
  /** Undefined: this home restarts nothing. */
  readonly rollouts?: Rollouts | undefined;
  /** Undefined: no platform, nobody to roll. */
  readonly profiles?: ProfilePlatform | undefined;
  /** Undefined: every look is uncached. */
  readonly cached?: CachedView | undefined;
  /** Undefined: the catalogue that a caller hands in is as fresh as any. */
  readonly resources?: ResourceReader | undefined;
  /** Undefined: `localIssuer` with `keys` and `random`. */
  readonly issuer?: Issuer | undefined;
  /** Stated by every home and every copy of one. Undefined: nothing that is issued here outlives the process. */
  readonly ledger: Ledger | undefined;
  /** Whether several namespaces share it, so that one pass carries out no more than a fair share of its plan. */
  readonly fairly?: boolean;
}

export interface HomeFacts {
  readonly consumersFound: boolean;
  /** Every namespace here has the same owner: none is another's. Default: false. */
  readonly oneOwner?: boolean | undefined;
  readonly cacheLag: Duration;
  /** Namespace that TrustBundles may take Secrets and ConfigMaps from. */
  readonly trustNamespace: string;
  /** When a Leaf (`namespace/name`) was asked for; undefined: nobody knows, so that it may be old. */
  readonly askedAt?: ((leaf: string) => Instant | undefined) | undefined;
}
