import type { Certificate, Instant } from '@handover/material';
import type { KeptEvent } from './outcome.ts';

/** One followed source as others may see it. Nothing in it is secret. */
export interface SourceStatus {
  readonly kind: 'trust' | 'identity' | 'token' | 'tls-profile';
  readonly path: string;
  /** What is loaded now. A token has none: even its hash is nobody's business. */
  readonly hash?: string;
  /** SHA-256 fingerprints of the anchors that are trusted now, newest first. */
  readonly anchors?: readonly string[];
  readonly leaf?: LeafStatus;
  /** 1 for the first load, +1 for each change since. */
  readonly loads: number;
  readonly loadedAt: string;
  /** Seconds since then. */
  readonly age: number;
  /** Why the newest files are not in use; absent when they are. */
  readonly lastFailure?: FailureStatus;
  /** Loaded from the last known good copy, since the file could not be used. */
  readonly lastKnownGood?: boolean;
  /** False while the loaded profile is not the one the pod was stamped with. */
  readonly ready?: boolean;
}

export interface LeafStatus {
  readonly fingerprint: string;
  /** Authority key id of the leaf, hex: it tells which CA generation issued the leaf. */
  readonly issuerKeyId?: string;
  readonly notAfter: string;
}

export interface FailureStatus {
  readonly reason: string;
  readonly code: string;
  readonly path: string;
  readonly at: string;
}

/** Whoever can be asked: trust, identity, token, TLS profile. */
export interface StatusSource {
  status(): SourceStatus;
  on(event: 'reloaded', listener: () => void): unknown;
}

export const isoTime = (at: Instant): string => new Date(at).toISOString();

export const leafStatus = (leaf: Certificate): LeafStatus => ({
  fingerprint: leaf.fingerprint,
  ...(leaf.authorityKeyId === undefined ? {} : { issuerKeyId: leaf.authorityKeyId }),
  notAfter: isoTime(leaf.notAfter),
});

export const ageOf = (loadedAt: Instant): number => Math.max(0, Date.now() - loadedAt) / 1000;

export const failureStatus = (failure: KeptEvent | undefined): { lastFailure?: FailureStatus } =>
  failure === undefined
    ? {}
    : {
        lastFailure: {
          reason: failure.reason,
          code: failure.error.code,
          path: failure.path,
          at: isoTime(failure.at),
        },
      };
