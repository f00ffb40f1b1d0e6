import { type Certificate, type Instant, iso } from '@handover/material';
import type { KeptEvent } from '../outcome.ts';

/**
 * One followed source in the status document. Nothing in it is secret.
 *
 * @example
 * ```ts
 * import type { SourceStatus } from '@handover/runtime';
 *
 * const { kind, loads }: SourceStatus = trust.status();
 * console.log(kind, loads); // trust 1
 * ```
 */
export interface SourceStatus {
  /** What the files hold. */
  readonly kind: 'trust' | 'identity' | 'token' | 'tls-profile';
  /** The first file of the source. */
  readonly path: string;
  /** Processes with this material, where a document speaks for several. `loads` and times are those of the oldest load. */
  readonly pids?: readonly number[];
  /** How changes are noticed: by events of the file system, or, when it gives none, at each poll. */
  readonly watching?: 'events' | 'poll';
  /** Hash of the material in use. Left out for a token: even its hash could help to guess it. */
  readonly hash?: string;
  /** SHA-256 fingerprints of the CA certificates in use, newest first. */
  readonly anchors?: readonly string[];
  /** The leaf certificate in use, for an identity. */
  readonly leaf?: LeafStatus;
  /** 1 for the first load, +1 for each change since. */
  readonly loads: number;
  /** When the material in use was loaded: ISO 8601. */
  readonly loadedAt: string;
  /** Seconds since `loadedAt`. */
  readonly age: number;
  /**
   * Why the newest files are not in use. It clears with the next good read, of new files or of the old ones again. When a server refused
   * the material it clears once every server and context uses the newest.
   */
  readonly lastFailure?: FailureStatus;
  /** True when the profile was loaded from its last known good copy because its file could not be used. */
  readonly lastKnownGood?: boolean;
  /** False until the loaded profile is the profile that the pod is stamped with. */
  readonly ready?: boolean;
}

/**
 * A leaf certificate in the status document.
 *
 * @example
 * ```ts
 * import type { LeafStatus } from '@handover/runtime';
 *
 * const leaf: LeafStatus | undefined = identity.status().leaf;
 * console.log(Date.parse(leaf?.notAfter ?? '') > Date.now()); // true
 * ```
 */
export interface LeafStatus {
  /** Hex SHA-256 of the certificate. */
  readonly fingerprint: string;
  /** Authority key id of the leaf, hex: it tells which CA generation issued the leaf. */
  readonly issuerKeyId?: string;
  /**
   * Hex SHA-256 of the certificates that are sent behind the leaf, such as a cross-certificate. Left out where that is not known, and of a chain of
   * more than eight.
   */
  readonly chain?: readonly string[];
  /** End of validity: ISO 8601. */
  readonly notAfter: string;
}

/**
 * The last failed reload in the status document.
 *
 * @example
 * ```ts
 * import type { FailureStatus } from '@handover/runtime';
 *
 * const failure: FailureStatus | undefined = trust.status().lastFailure;
 * console.log(failure?.code ?? 'the newest files are in use'); // the newest files are in use
 * ```
 */
export interface FailureStatus {
  /** Kind of failure, as in a `kept` event. */
  readonly reason: string;
  /** Code of the error. */
  readonly code: string;
  /** The file. */
  readonly path: string;
  /** When the reload failed: ISO 8601. */
  readonly at: string;
}

/**
 * A source that {@link serveStatus} can show: trust, identity, token or TLS profile.
 *
 * @example
 * ```ts
 * import { type StatusSource, serveStatus } from '@handover/runtime';
 *
 * const sources: readonly StatusSource[] = [trust, identity, token];
 * await serveStatus({ port: 8081, sources });
 * ```
 */
export interface StatusSource {
  /** The material in use. */
  status(): SourceStatus;
  /** Calls the listener after each change. */
  on(event: 'reloaded', listener: () => void): unknown;
}

/** What a process shows of itself. */
export interface Shown {
  /** Undefined: a thread or a server of the process does not say what it uses. */
  statuses(): readonly SourceStatus[] | undefined;
  onChange(listener: () => void): void;
}

/** What the servers of a source use beside it; undefined: that cannot be said. */
export const BESIDE: unique symbol = Symbol.for('@handover/runtime/beside') as never;

interface WithServers extends StatusSource {
  [BESIDE]?(): readonly StatusSource[] | undefined;
}

/** The sources and what is used beside them, each once. */
function withBeside(sources: readonly WithServers[]): readonly StatusSource[] | undefined {
  const all = new Set<StatusSource>(sources);
  for (const source of sources) {
    const beside = source[BESIDE] === undefined ? [] : source[BESIDE]();
    if (beside === undefined) return undefined;
    for (const one of beside) all.add(one);
  }
  return [...all];
}

export const shownOf = (sources: readonly StatusSource[]): Shown => ({
  statuses: () => withBeside(sources)?.map((source) => source.status()),
  // Not on `kept`: a listener there would silence the process warning.
  onChange: (listener) => {
    for (const source of sources) source.on('reloaded', listener);
  },
});

/** A document has 64 KiB at most. The files of an authority have one or two certificates behind the leaf. */
const MOST_BEHIND = 8;

export const leafStatus = (leaf: Certificate, behind?: readonly Certificate[]): LeafStatus => ({
  fingerprint: leaf.fingerprint,
  ...(leaf.authorityKeyId === undefined ? {} : { issuerKeyId: leaf.authorityKeyId }),
  ...(behind === undefined || behind.length > MOST_BEHIND
    ? {}
    : { chain: behind.map(({ fingerprint }) => fingerprint) }),
  notAfter: iso(leaf.notAfter),
});

export const ageOf = (loadedAt: Instant, now: Instant): number => Math.max(0, now - loadedAt) / 1000;

export const failureStatus = (failure: KeptEvent | undefined): { lastFailure?: FailureStatus } =>
  failure === undefined
    ? {}
    : {
        lastFailure: {
          reason: failure.reason,
          code: failure.error.code,
          path: failure.path,
          at: iso(failure.at),
        },
      };
