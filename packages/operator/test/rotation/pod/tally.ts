import type { Target, Verdict } from './handshake.ts';

export interface Failure {
  readonly at: string;
  readonly target: string;
  readonly kind: string;
  readonly why: string;
}

/** Calls in one direction. */
export interface Count {
  readonly ok: number;
  readonly failed: number;
  /** Of the failed: got no TCP connection. */
  readonly unreached: number;
}

/** The report of one pod, each second and at its end: totals since it started. */
export interface Report {
  readonly pod: string;
  readonly name: string;
  readonly counts: Readonly<Record<string, Count>>;
  /** Calls that were due while too many were in progress. */
  readonly skipped: number;
  /** The first of them. */
  readonly failures: readonly Failure[];
  /** The result of each handshake that the test asked for. */
  readonly tried: Readonly<Record<string, string>>;
}

/** What the test wants of every pod. */
export interface Wishes {
  readonly go: boolean;
  readonly tries: readonly (Target & { readonly id: string })[];
}

const MOST_FAILURES = 40;

export class Tally {
  readonly #counts: Record<string, { ok: number; failed: number; unreached: number }> = {};
  readonly #failures: Failure[] = [];
  readonly tried: Record<string, string> = {};
  skipped = 0;

  add(target: string, verdict: Verdict): void {
    this.#counts[target] ??= { ok: 0, failed: 0, unreached: 0 };
    const count = this.#counts[target];
    if (verdict.ok) count.ok++;
    else {
      count.failed++;
      if (verdict.kind === 'unreached') count.unreached++;
      if (this.#failures.length < MOST_FAILURES)
        this.#failures.push({ at: new Date().toISOString(), target, kind: verdict.kind, why: verdict.why });
    }
  }

  report(pod: string, name: string): Report {
    return {
      pod,
      name,
      counts: this.#counts,
      skipped: this.skipped,
      failures: this.#failures,
      tried: this.tried,
    };
  }
}
