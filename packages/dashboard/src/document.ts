import type { Role } from '@handover/core';
import type { AuthorityStatus, Status } from '@handover/engine';

/** `assumed`: it verifies if the owners of both sides are right. `waits`: it verifies, and one of the two sides has not confirmed yet. */
export type ShownVerdict = 'ok' | 'assumed' | 'waits' | 'fails';

export interface Cell {
  readonly now: ShownVerdict;
  /** If the next step were taken now; null: no step is ahead. */
  readonly next: ShownVerdict | null;
  readonly why?: string;
  readonly whyNext?: string;
}

/** One presenter or one verifier; `group`: its row or column in `cells`. */
export interface Party {
  readonly name: string;
  readonly group: number;
}

/** Every presenter against every verifier. Equal ones share a row or a column, so that 1,000 of them make a small document. */
export interface TrustGrid {
  /** The next step in words; null: none is ahead. */
  readonly step: string | null;
  readonly presenters: readonly Party[];
  readonly verifiers: readonly Party[];
  /** By the group of the presenter, then of the verifier. */
  readonly cells: readonly (readonly Cell[])[];
}

/** One generation in one role. */
export interface ShownSpan {
  readonly generation: number;
  readonly role: Role;
  readonly from: string;
  /** Null: until now. */
  readonly to: string | null;
  /** `state`: from the authority's state, which survives restarts of this process. `seen`: this process saw it. */
  readonly known: 'state' | 'seen';
}

export interface History {
  /** When this process started; earlier spans come from the state, which does not keep all of them. */
  readonly watchedSince: string;
  readonly spans: readonly ShownSpan[];
}

export interface Awaited {
  readonly name: string;
  readonly waitsFor: readonly string[];
}

export interface AuthorityPart {
  readonly id: string;
  readonly status: AuthorityStatus;
  readonly trust: TrustGrid;
  readonly history: History;
  /** Every consumer that has not confirmed yet, also beyond the 50 that `blockedBy` lists. */
  readonly awaited: readonly Awaited[];
  /** What the next step waits for, one sentence for all consumers that have to do the same. */
  readonly waits: readonly { readonly sentence: string; readonly since: string }[];
}

export type LogKind = 'step' | 'write' | 'roll' | 'repair' | 'failure';

export interface LogEntry {
  /** Counts up; unique in one process. */
  readonly number: number;
  readonly at: string;
  readonly kind: LogKind;
  readonly about: string;
  readonly text: string;
}

/** Handshakes of each second, oldest first; only in a demo. */
export interface Figures {
  readonly handshakes: number;
  readonly failures: number;
  /** Unix seconds. */
  readonly at: readonly number[];
  readonly went: readonly number[];
  readonly failed: readonly number[];
  /** A phase that began at `at` (Unix seconds), for the plot's background. */
  readonly phases: readonly { readonly at: number; readonly phase: string }[];
}

export interface About {
  readonly title: string;
  readonly startedAt: string;
  readonly repairs: number;
  /** A notice above the page, such as that this replica does not lead. */
  readonly note: string | null;
}

export type RestShown = Pick<Status, 'trustBundles' | 'tlsProfiles' | 'run' | 'remarks'>;

/**
 * `GET /api/status`: the document of `handover status --json`, with what this process has seen over time. Resources that cannot be used
 * are among its remarks and in its log.
 */
export interface BoardDocument extends Omit<Status, 'unusable' | 'wrong'> {
  readonly at: string;
  readonly about: About;
  readonly trust: Readonly<Record<string, TrustGrid>>;
  readonly history: Readonly<Record<string, History>>;
  readonly log: readonly LogEntry[];
  readonly figures: Figures | null;
}

/** What `/api/events` sends; each part replaces the last one of the same name. */
export interface DocumentParts {
  readonly about: About & { readonly authorities: readonly string[] };
  readonly authority: AuthorityPart;
  readonly rest: RestShown;
  readonly log: readonly LogEntry[];
  readonly figures: Figures;
}
