import type { AuthorityStatus, Status } from '@handover/engine';

/** `waits`: it verifies, and one of the two sides has still to show that it is ready for the next step. */
export type Verdict = 'ok' | 'waits' | 'fails';

export interface Cell {
  readonly now: Verdict;
  /** If the next step were taken this moment; null: no step is ahead. */
  readonly next: Verdict | null;
  readonly why?: string;
  readonly whyNext?: string;
}

/** One presenter or one verifier; `group`: its row or column in `cells`. */
export interface Party {
  readonly name: string;
  readonly group: number;
}

/** Every presenter before every verifier. Those who stand alike share a row or a column: 1,000 of them make a small document. */
export interface TrustGrid {
  /** What the next step is, in words; null: none is ahead. */
  readonly step: string | null;
  readonly presenters: readonly Party[];
  readonly verifiers: readonly Party[];
  /** By the group of the presenter, then of the verifier. */
  readonly cells: readonly (readonly Cell[])[];
}

export type Role = 'next' | 'current' | 'previous' | 'distrusted';

/** One generation in one role. */
export interface Span {
  readonly generation: number;
  readonly role: Role;
  readonly from: string;
  /** Null: until now. */
  readonly to: string | null;
  /** `state`: the authority's own state says so, past restarts of this process. `seen`: this process saw it. */
  readonly known: 'state' | 'seen';
}

export interface History {
  /** Since when this process has been watching; of what went before only that is known which the state still says. */
  readonly watchedSince: string;
  readonly spans: readonly Span[];
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
  /** Everyone who has still to show something, by consumer; also beyond the 50 that `blockedBy` lists. */
  readonly awaited: readonly Awaited[];
  /** Of how many things the step under way waits for; `blockedBy` has at most 50 of them. */
  readonly blockers: number;
}

export type LogKind = 'step' | 'write' | 'roll' | 'repair' | 'failure';

export interface LogEntry {
  /** Counts up; never used twice by one process. */
  readonly number: number;
  readonly at: string;
  readonly kind: LogKind;
  readonly about: string;
  readonly text: string;
}

/** Handshakes of each second, oldest first; only a demo makes any. */
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
  /** Something a reader must know to read the page rightly: this replica does not lead. */
  readonly note: string | null;
}

export type Rest = Pick<Status, 'trustBundles' | 'tlsProfiles' | 'remarks'>;

/** `GET /api/status`: the document of `handover status --json`, and what only somebody who has been watching knows. */
export interface BoardDocument extends Status {
  readonly at: string;
  readonly about: About;
  readonly trust: Readonly<Record<string, TrustGrid>>;
  readonly history: Readonly<Record<string, History>>;
  readonly log: readonly LogEntry[];
  readonly figures: Figures | null;
}

/** What `/api/events` sends; each takes the place of the last one with the same name. */
export interface Parts {
  readonly about: About & { readonly authorities: readonly string[] };
  readonly authority: AuthorityPart;
  readonly rest: Rest;
  readonly log: readonly LogEntry[];
  readonly figures: Figures;
}
