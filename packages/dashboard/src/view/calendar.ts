import type { AuthorityPart } from '../document.ts';
import { shortName } from './words.ts';

export interface CalendarEntry {
  readonly at: number;
  readonly kind: 'ca' | 'leaf';
  readonly name: string;
  readonly authority: string;
}

export interface Month {
  readonly year: number;
  /** 0–11. */
  readonly month: number;
  readonly cas: number;
  readonly leaves: number;
}

export interface Calendar {
  /** This month and the 12 after it. */
  readonly months: readonly Month[];
  readonly later: { readonly cas: number; readonly leaves: number };
  readonly overdue: number;
  /** Soonest first. */
  readonly soonest: readonly CalendarEntry[];
}

const MONTHS = 13;
const SHOWN = 8;

export const expiriesOf = (parts: readonly AuthorityPart[]): readonly CalendarEntry[] =>
  parts
    .flatMap(({ id, status }): CalendarEntry[] => [
      ...status.generations
        .filter(({ role }) => role !== 'distrusted')
        .map(
          ({ generation, notAfter }): CalendarEntry => ({
            at: Date.parse(notAfter),
            kind: 'ca',
            name: `CA generation ${generation}`,
            authority: id,
          }),
        ),
      ...status.leaves.flatMap(({ name, notAfter }): CalendarEntry[] =>
        notAfter === null
          ? []
          : [{ at: Date.parse(notAfter), kind: 'leaf', name: shortName(name), authority: id }],
      ),
    ])
    .sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1));

/** Expiry by months of the reader's time zone. */
export const calendarOf = (expiries: readonly CalendarEntry[], now: number): Calendar => {
  const today = new Date(now);
  const index = (at: number): number => {
    const date = new Date(at);
    return (date.getFullYear() - today.getFullYear()) * 12 + date.getMonth() - today.getMonth();
  };
  const months = Array.from({ length: MONTHS }, (_, offset) => {
    const first = new Date(today.getFullYear(), today.getMonth() + offset, 1);
    return { year: first.getFullYear(), month: first.getMonth(), cas: 0, leaves: 0 };
  });
  const later = { cas: 0, leaves: 0 };
  for (const { at, kind } of expiries) {
    const bucket = months[Math.max(0, index(at))] ?? later;
    if (kind === 'ca') bucket.cas++;
    else bucket.leaves++;
  }
  return {
    months,
    later,
    overdue: expiries.filter(({ at }) => at <= now).length,
    soonest: expiries.slice(0, SHOWN),
  };
};
