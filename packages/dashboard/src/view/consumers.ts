import type { EvidenceKind } from '@handover/core';
import type { AuthorityPart } from '../document.ts';
import { waitingFor } from './headline.ts';

export interface Row {
  readonly name: string;
  readonly kind: string;
  /** Null: none that counts yet. */
  readonly evidence: EvidenceKind | null;
  readonly waitsFor: readonly string[];
  readonly at: number | null;
  readonly remark: string | null;
}

/** What each kind of evidence means. */
export const EVIDENCE: Readonly<Record<EvidenceKind, string>> = {
  acknowledged: 'the process itself reports what it has loaded',
  probed: 'a TLS handshake showed it',
  restarted: 'it started after the files were written',
  confirmed: 'a person said that it was restarted after the files were written',
  written: 'the API server holds the bytes',
  settled: 'its owner says that it reloads within reloadWithin',
  cross: 'it need not load it: the cross-certificate makes it accept the new CA',
  expired: 'the old leaf has expired',
  outside: 'of another namespace; no step waits for it',
  unused: 'no program uses it',
};

/** Consumers that the next step waits for come first; then by name. */
export const consumerRows = (part: AuthorityPart, filter = ''): readonly Row[] => {
  const { status, awaited } = part;
  const lacking = new Map(awaited.map(({ name, waitsFor }) => [name, waitsFor]));
  const known = new Set(status.consumers.map(({ name }) => name));
  const rows = status.consumers.map(({ name, kind, evidence, at, remark }): Row => {
    const waitsFor = lacking.get(name) ?? [];
    return {
      name,
      kind,
      evidence: waitsFor.length > 0 ? null : evidence,
      waitsFor,
      at: at === null ? null : Date.parse(at),
      remark: remark ?? null,
    };
  });
  // Not consumers: readers of an object, an object that cannot be written, a pause.
  const others = waitingFor(part)
    .filter((name) => !known.has(name))
    .map((name): Row => {
      const blockers = status.blockedBy.filter(({ consumer }) => consumer === name);
      return {
        name,
        kind: '',
        evidence: null,
        waitsFor: blockers.map(({ waitsFor }) => waitsFor),
        at: null,
        remark: null,
      };
    });
  const wanted = filter.trim().toLowerCase();
  return [...rows, ...others]
    .filter(({ name }) => wanted === '' || name.toLowerCase().includes(wanted))
    .sort(
      (a, b) => Number(b.waitsFor.length > 0) - Number(a.waitsFor.length > 0) || (a.name < b.name ? -1 : 1),
    );
};

/** Which of many rows of one height are in sight, with some on either side. */
export const rowsInSight = (
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
): { readonly first: number; readonly end: number } => {
  const margin = 8;
  const first = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight) - margin, count - 1));
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + margin);
  return { first: Math.max(0, first), end: Math.max(end, 0) };
};
