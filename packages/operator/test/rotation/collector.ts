import type { Server } from 'node:http';
import { Heard } from './heard.ts';
import type { Target } from './pod/handshake.ts';
import type { Count, Failure, Report, Wishes } from './pod/tally.ts';

export interface Totals {
  readonly handshakes: number;
  readonly failed: number;
  /** Calls that were due and not made, because too many were in progress. */
  readonly skipped: number;
  /** `from → to`. */
  readonly directions: ReadonlyMap<string, Count>;
  readonly failures: readonly (Failure & { readonly from: string })[];
}

/** Collects the results of pods' calls, including the last report of a pod that has ended. */
export class Collector {
  readonly #reports = new Map<string, Report>();
  /** As late as the reports: a second or two. */
  readonly heard = new Heard();
  #injections: Wishes = { go: false, tries: [] };

  constructor(server: Server) {
    server.on('request', (asked, response) => {
      let text = '';
      asked.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      asked.on('end', () => {
        this.#take(JSON.parse(text) as Report);
        response.setHeader('connection', 'close').end(JSON.stringify(this.#injections));
      });
    });
  }

  #take(report: Report): void {
    const before = this.#reports.get(report.pod)?.counts ?? {};
    for (const [target, { ok }] of Object.entries(report.counts))
      if (ok > (before[target]?.ok ?? 0)) this.heard.add(`${report.name} → ${target}`);
    this.#reports.set(report.pod, report);
  }

  totals(): Totals {
    const directions = new Map<string, Count>();
    let skipped = 0;
    const failures: (Failure & { from: string })[] = [];
    for (const report of this.#reports.values()) {
      skipped += report.skipped;
      failures.push(...report.failures.map((failure) => ({ ...failure, from: report.pod })));
      for (const [target, { ok, failed, unreached }] of Object.entries(report.counts)) {
        const key = `${report.name} → ${target}`;
        const before = directions.get(key) ?? { ok: 0, failed: 0, unreached: 0 };
        directions.set(key, {
          ok: before.ok + ok,
          failed: before.failed + failed,
          unreached: before.unreached + unreached,
        });
      }
    }
    const sum = (of: keyof Count): number =>
      [...directions.values()].reduce((total, count) => total + count[of], 0);
    return { handshakes: sum('ok') + sum('failed'), failed: sum('failed'), skipped, directions, failures };
  }

  /** From now on every pod makes calls, including later ones. */
  go(): void {
    this.#injections = { ...this.#injections, go: true };
  }

  /** Asks every pod for one handshake. */
  ask(target: Target & { readonly id: string }): void {
    this.#injections = { ...this.#injections, tries: [...this.#injections.tries, target] };
  }

  /** Its result; undefined: not known yet. */
  tried(id: string, pod: string): string | undefined {
    const verdict = this.#reports.get(pod)?.tried[id];
    return verdict === 'under way' ? undefined : verdict;
  }
}
