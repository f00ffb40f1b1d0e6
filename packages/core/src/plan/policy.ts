import { type Duration, duration, type Instant, second } from '@handover/material';
import type { Anchor } from './authority.ts';

export interface LeafPolicy {
  /** Id of its Secret. */
  readonly object: string;
  /** For people; default: `object`. */
  readonly name?: string;
  /** Identity of everything that the Leaf's spec puts into the certificate: a change means a new leaf. */
  readonly spec: string;
  readonly lifetime: Duration;
  /** Share of its life after which it is renewed, 0–1. */
  readonly renewAt: number;
  /** Its key stays the same when it is renewed. */
  readonly reuseKey?: boolean;
  /** When it was requested; undefined: unknown, taken as long ago. */
  readonly createdAt?: Instant;
  /** Its Secret lies outside the authority's namespace. */
  readonly elsewhere?: boolean;
  /** Its owner says that programs read the Secret that no consumer stands for. */
  readonly usedByOthers?: true;
  /** Its owner says that no program reads the Secret beside the consumers that are known. */
  readonly usedByNobody?: true;
}

export interface BundlePolicy {
  readonly object: string;
  /** Anchors from elsewhere (a company root) that this target holds as well. */
  readonly extra: readonly Anchor[];
  /** It lies outside the authority's namespace. */
  readonly elsewhere?: boolean;
}

/** What the authority's owner configured, and what its home can know. */
export interface Policy {
  readonly lifetime: Duration;
  /** Share of the CA's life after which it is rotated (0–1), or how long before its end. */
  readonly rotate: { readonly at: number } | { readonly before: Duration };
  readonly strategy: 'Phased' | 'Instant';
  readonly reloadWithin: Duration;
  readonly onBlocked: 'Wait' | 'Restart' | 'Proceed';
  readonly patience: Duration;
  /** How long a retired CA stays trusted for leaves in other namespaces; undefined: until the last of them has expired. */
  readonly patienceElsewhere?: Duration;
  readonly paused: boolean;
  readonly maxConcurrentRollouts: number;
  /** How stale a file can be that a new process starts from. */
  readonly cacheLag: Duration;
  /**
   * True where the home finds consumers by itself. Elsewhere an object without a declared consumer counts as loaded after
   * `reloadWithin`, by its owner's word.
   */
  readonly consumersFound: boolean;
  readonly leaves: readonly LeafPolicy[];
  readonly bundles: readonly BundlePolicy[];
}

/** An API field counts as loaded this long after it was read back: every API server replica has it by then. */
export const FIELD_LAG: Duration = duration(10 * second);
