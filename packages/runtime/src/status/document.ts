import { type Instant, iso, MAX_STATUS_BYTES } from '@handover/material';
import type { SourceStatus } from './status.ts';

/**
 * One process that a status document speaks for.
 *
 * @example
 * ```ts
 * import { type ProcessStatus, type StatusDocument, serveStatus } from '@handover/runtime';
 *
 * const isKnown = ({ silent }: ProcessStatus) => silent !== true;
 * const { port } = await serveStatus({ port: 8081, sources: [trust] });
 * const response = await fetch(`http://127.0.0.1:${port}/handover/status`);
 * const { processes } = (await response.json()) as StatusDocument;
 * console.log(processes.every(isKnown)); // true
 * ```
 */
export interface ProcessStatus {
  /** Process id. */
  readonly pid: number;
  /**
   * True when the process runs but gave no answer, or has a worker thread that does not say what it has loaded. What it has loaded is
   * then unknown, and a rotation waits.
   */
  readonly silent?: true;
}

/**
 * The material that this process, or every process of its group, has loaded. A rotation waits for it.
 *
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs';
 * import { type StatusDocument, serveStatus } from '@handover/runtime';
 *
 * await serveStatus({ file: '/etc/mesh/status.json', sources: [trust] });
 * const { sources }: StatusDocument = JSON.parse(readFileSync('/etc/mesh/status.json', 'utf8'));
 * console.log(sources[0]?.kind); // trust
 * ```
 */
export interface StatusDocument {
  /** Readers refuse any other version. */
  readonly version: 1;
  /** When the document was made: ISO 8601. */
  readonly at: string;
  /** The process that made the document. */
  readonly pid: number;
  /** `metadata.uid` of the pod, when given. */
  readonly podUid?: string;
  /** Every process that the document speaks for: more than one under `node:cluster` and `register`. */
  readonly processes: readonly ProcessStatus[];
  /** One entry for each source. Processes with the same material share an entry. */
  readonly sources: readonly SourceStatus[];
  /** True when the oldest CA fingerprints were left out to stay under 64 KiB. */
  readonly truncated?: true;
}

/** What one process says of itself. `sources` is undefined when it gave no answer. */
export interface Report {
  readonly pid: number;
  readonly sources: readonly SourceStatus[] | undefined;
}

/** Equal but for the times: the same material, in the same condition. */
const conditionOf = ({ loads, loadedAt, age, pids, lastFailure, ...rest }: SourceStatus): string =>
  JSON.stringify([rest, lastFailure?.reason, lastFailure?.code]);

/** One entry for each condition, of the oldest load. */
export function distinct(sources: readonly SourceStatus[]): readonly SourceStatus[] {
  const byCondition = new Map<string, SourceStatus>();
  for (const source of sources) {
    const known = byCondition.get(conditionOf(source));
    if (known === undefined || source.age > known.age) byCondition.set(conditionOf(source), source);
  }
  return [...byCondition.values()];
}

/** One entry for each condition, so that 64 workers fit into one document. The oldest load stands for all. */
function merged(reports: readonly Report[]): readonly SourceStatus[] {
  const byCondition = new Map<string, SourceStatus & { readonly pids: readonly number[] }>();
  for (const { pid, sources = [] } of reports) {
    for (const source of sources) {
      const key = conditionOf(source);
      const known = byCondition.get(key);
      const oldest = known === undefined || source.age > known.age ? source : known;
      byCondition.set(key, { ...oldest, pids: [...new Set([...(known?.pids ?? []), pid])] });
    }
  }
  return [...byCondition.values()];
}

/** The document about these processes, as text of at most 64 KiB. */
export function renderDocument(reports: readonly Report[], podUid: string | undefined, now: Instant): string {
  const [only, ...others] = reports;
  const sources = others.length === 0 ? (only?.sources ?? []) : merged(reports);
  const document = (anchors: number): StatusDocument => ({
    version: 1,
    at: iso(now),
    pid: process.pid,
    ...(podUid === undefined ? {} : { podUid }),
    processes: reports.map((report) =>
      report.sources === undefined ? { pid: report.pid, silent: true } : { pid: report.pid },
    ),
    sources: sources.map((status) =>
      status.anchors === undefined ? status : { ...status, anchors: status.anchors.slice(0, anchors) },
    ),
    ...(anchors === Number.POSITIVE_INFINITY ? {} : { truncated: true }),
  });
  let text = JSON.stringify(document(Number.POSITIVE_INFINITY));
  for (let anchors = 512; Buffer.byteLength(text) > MAX_STATUS_BYTES && anchors >= 1; anchors /= 2) {
    text = JSON.stringify(document(anchors));
  }
  return text;
}
