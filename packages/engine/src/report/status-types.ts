import type {
  Closeness,
  EvidenceCounts,
  EvidenceKind,
  NotServed,
  RestsOnTime,
  ServingState,
  StandsOn,
} from '@handover/core';
import type { HistoryStatus } from '../ledger/history.ts';
import type { Unusable } from '../snapshot/catalogue.ts';
import type { HookStatus } from '../snapshot/hook-status.ts';

export interface AuthorityStatus {
  readonly namespace: string;
  readonly name: string;
  readonly phase: string;
  /** Whether every leaf that the authority vouches for is valid now, and every bundle accepts it. */
  readonly ready: boolean;
  /** Why it is not ready, in sentences. */
  readonly notReady: readonly string[];
  readonly generations: readonly {
    readonly generation: number;
    readonly role: string;
    readonly fingerprint: string;
    readonly notBefore: string;
    readonly notAfter: string;
    /** Of a retained one: when it leaves the bundles at the latest. */
    readonly trustedUntil?: string;
    /** Of a retained one: workloads in other namespaces that may still use a leaf of it, each with the reason. */
    readonly trustedFor?: readonly string[];
  }[];
  readonly bundleHash: string | undefined;
  readonly blockedBy: readonly {
    readonly consumer: string;
    readonly waitsFor: string;
    readonly since: string;
    /** What the consumer serves meanwhile, read after its name. */
    readonly shows?: string;
  }[];
  readonly leaves: readonly LeafReport[];
  readonly consumers: readonly ConsumerStatus[];
  /** How many consumers have shown what they loaded, and for how many that is assumed, by their owner's word. */
  readonly evidence: EvidenceCounts;
  /** Consumers for which a rotation takes the time since a write as evidence, because nothing shows what they have loaded. */
  readonly restsOnTime: readonly RestsOnTime[];
  /** Hooks that tell programs of its files. */
  readonly hooks: readonly HookStatus[];
  /** When the planner looks again even if nothing changes; null: not known. */
  readonly wakeAt: string | null;
  /** When the step that waits is taken, if time alone ends the wait; null: it takes evidence, or a person. */
  readonly dueAt: string | null;
  /** How soon a CA in use expires that is not replaced yet; null: not soon. */
  readonly expiring: Closeness | null;
  /** Warnings, in sentences. */
  readonly notes: readonly string[];
  /** What the plan would do now, in sentences. */
  readonly next: readonly string[];
  /** Past steps, oldest first; only where one authority was asked for. */
  readonly history?: readonly HistoryStatus[];
}

export interface LeafReport {
  readonly namespace: string;
  readonly name: string;
  readonly secret: string;
  /** CA generation that signed it; null: none that is known. */
  readonly generation: number | null;
  readonly fingerprint: string | null;
  readonly notAfter: string | null;
  /** Why it is not issued. */
  readonly refused?: string;
}

/** What one process of a consumer serves now, or why nothing is seen of it. */
export interface ServingStatus {
  readonly instance: string;
  readonly state: ServingState;
  /** Object that the certificate is of, or should be of. */
  readonly object: string | null;
  /** CA generation that signed it; null: none of this Authority. */
  readonly generation: number | null;
  readonly names: readonly string[];
  readonly fingerprint: string | null;
  readonly notAfter: string | null;
  /** Why there is no certificate. */
  readonly reason: NotServed | null;
  /** When it was asked last. */
  readonly at: string;
  /** Since when it has served the same, or nothing for the same reason, as far as it was watched. */
  readonly since: string;
  /** Clients are refused now, or will be. */
  readonly wrong: boolean;
  /** The same as a sentence without its subject. */
  readonly text: string;
}

export interface ConsumerStatus {
  readonly name: string;
  readonly kind: string;
  /** Its weakest evidence; null: none yet. */
  readonly evidence: EvidenceKind | null;
  /** What that stands on: `shown`, `assumed` (its owner's word), `notNeeded` or `none`. */
  readonly stands: StandsOn | 'none';
  readonly hash: string | null;
  readonly at: string | null;
  /** Such as `trusts CA generation 1 until restarted`. */
  readonly remark?: string;
  /** What its processes serve now, the worst first, at most 50; none: it is not asked. */
  readonly shows: readonly ServingStatus[];
}

/** What the process that works here, or the last that did, knows of itself. */
export interface RunStatus {
  /** The `handover run` that works here; null: none. */
  readonly pid: number | null;
  /** When a process worked here last; null: not known. */
  readonly lastAt: string | null;
  /** Work that failed and has not succeeded since. */
  readonly problems: readonly {
    readonly what: string;
    readonly code: string;
    readonly message: string;
    readonly since: string;
    readonly at: string;
  }[];
}

export interface Status {
  readonly authorities: readonly AuthorityStatus[];
  /** Resources that are invalid or name one that is not declared, and Authorities whose state cannot be used. */
  readonly unusable: readonly Unusable[];
  /** Everything here that is wrong and that the next pass does not make right, in sentences; empty: exit code 0. */
  readonly wrong: readonly string[];
  readonly trustBundles: readonly {
    readonly name: string;
    readonly targets: readonly {
      readonly object: string;
      readonly certificates: number;
      readonly hash: string | null;
    }[];
    /** The hook that tells programs of it; null: none. */
    readonly hook: HookStatus | null;
  }[];
  readonly tlsProfiles: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly type: string;
    readonly hash: string | null;
    readonly written: boolean;
    readonly problems: readonly string[];
  }[];
  /** Null: this home does not record it. */
  readonly run: RunStatus | null;
  /** Settings that have no effect. */
  readonly remarks: readonly string[];
}
