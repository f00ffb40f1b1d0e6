import type { Instant } from '@handover/material';

/** Work that failed and has not succeeded since. */
export interface RunProblem {
  /** "Authority default/internal", or the path of a file. */
  readonly what: string;
  readonly code: string;
  readonly message: string;
  /** When it failed first without a success since, and when it failed last. */
  readonly since: Instant;
  readonly at: Instant;
}

/** What the process that works on a home, or the last that did, knows of itself. */
export interface RunReport {
  /** The process that works here until it is stopped; undefined: there is none. */
  readonly pid: number | undefined;
  /** When one worked here last; undefined: not known. */
  readonly lastAt: Instant | undefined;
  readonly problems: readonly RunProblem[];
}
