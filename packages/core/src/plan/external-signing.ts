import { day, hour, type Instant, instant } from '@handover/material';
import type { AuthorityState, Generation, IssuedElsewhere } from './authority.ts';

const later = <T extends number>(a: T | undefined, b: T): T => (a === undefined || b > a ? b : a);
const latest = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  b === undefined ? a : later(a, b);

const DATES = ['lentUntil', 'unseenUntil', 'podsUntil'] as const satisfies readonly (keyof Generation)[];

/** Objects of other namespaces that a generation remembers by name, and the characters of their names: the state has to fit into a Secret. */
export const MOST_NAMED_ELSEWHERE = 500;
const MOST_CHARACTERS = 32_768;

/** What a state of an earlier version does not say: leaves may be out until the last that was lent, or the CA itself, has ended. */
export const unknownElsewhere = ({ lentUntil, anchors: [{ notAfter }] }: Generation): IssuedElsewhere => ({
  objects: [],
  unnamedUntil: lentUntil ?? notAfter,
});

/** A leaf elsewhere that ends at `until`. `object`: the one that shows it. */
export const issuedTo = (object: string | undefined, until: Instant): IssuedElsewhere =>
  object === undefined ? { objects: [], unnamedUntil: until } : { objects: [object], until };

/** When the last of these leaves has ended; undefined: there is none. */
export const elsewhereEnds = (issued: IssuedElsewhere | undefined): Instant | undefined =>
  latest(issued?.until, issued?.unnamedUntil);

/** What both say: the names of all objects, and the later dates. */
export const unionElsewhere = (
  a: IssuedElsewhere | undefined,
  b: IssuedElsewhere | undefined,
): IssuedElsewhere | undefined => {
  if (a === undefined || b === undefined) return a ?? b;
  const objects = [...new Set([...a.objects, ...b.objects])].sort();
  const until = latest(a.until, b.until);
  const unnamedUntil = latest(a.unnamedUntil, b.unnamedUntil);
  const isMuch = objects.length > MOST_NAMED_ELSEWHERE || objects.join().length > MOST_CHARACTERS;
  return isMuch ? dated([], undefined, latest(until, unnamedUntil)) : dated(objects, until, unnamedUntil);
};

const dated = (
  objects: readonly string[],
  until: Instant | undefined,
  unnamedUntil: Instant | undefined,
): IssuedElsewhere => ({
  objects,
  ...(until === undefined ? {} : { until }),
  ...(unnamedUntil === undefined ? {} : { unnamedUntil }),
});

export const sameElsewhere = (a: IssuedElsewhere | undefined, b: IssuedElsewhere | undefined): boolean =>
  a?.until === b?.until && a?.unnamedUntil === b?.unnamedUntil && a?.objects.join() === b?.objects.join();

/** Rounded up, so that many leaves need few writes; no leaf outlives its CA. */
export const roundedEnd = (
  notAfter: Instant,
  { anchors: [{ notAfter: caEnd }] }: Generation,
  step: number = day,
): Instant => instant(Math.min(Math.ceil(notAfter / step) * step, caEnd));

/** A leaf that another program asks for. */
export interface ExternalSigning {
  readonly notAfter: Instant;
  /** No object will show it. */
  readonly isUnseen: boolean;
  /** For a pod, which is seen by itself. */
  readonly forPod?: boolean;
  /** In another namespace: the object that will show it, or `unnamed`. */
  readonly elsewhere?: { readonly object: string } | 'unnamed';
}

/**
 * The state to write before the current CA signs a leaf for another program; undefined: the state covers it already. The revision stays:
 * nothing is derived from what is raised. Dates are rounded up: to whole hours for pods, whose leaves live for hours, else to whole days.
 */
export const recordExternalSigning = (
  state: AuthorityState,
  asked: ExternalSigning,
): AuthorityState | undefined => {
  const { notAfter, isUnseen, forPod = false, elsewhere } = asked;
  const raised = (one: Generation): Generation => {
    const end = roundedEnd(notAfter, one, forPod ? hour : day);
    const away =
      elsewhere === undefined
        ? undefined
        : issuedTo(elsewhere === 'unnamed' ? undefined : elsewhere.object, end);
    const all =
      away === undefined ? one.elsewhere : unionElsewhere(one.elsewhere ?? unknownElsewhere(one), away);
    return {
      ...one,
      // Dates of the own namespace: what other namespaces get holds nothing up there.
      ...(elsewhere !== undefined
        ? {}
        : forPod
          ? { podsUntil: later(one.podsUntil, end) }
          : { lentUntil: later(one.lentUntil, end) }),
      // In other namespaces such a leaf holds no rotation up: the CA stays trusted for it.
      ...(isUnseen && elsewhere === undefined ? { unseenUntil: later(one.unseenUntil, end) } : {}),
      ...(all === undefined ? {} : { elsewhere: all }),
    };
  };
  const current = state.generations.find(({ role }) => role === 'current');
  if (current === undefined) return undefined;
  const next = raised(current);
  if (DATES.every((date) => next[date] === current[date]) && sameElsewhere(next.elsewhere, current.elsewhere))
    return undefined;
  return { ...state, generations: state.generations.map((one) => (one === current ? next : one)) };
};

/** A state with what another writer raised meanwhile. */
export const withExternalDates = (
  state: AuthorityState,
  stored: AuthorityState | undefined,
): AuthorityState => ({
  ...state,
  generations: state.generations.map((one) => {
    const other = stored?.generations.find(({ number }) => number === one.number);
    // A retained CA has signed its last leaf, and what counts for its own namespace is over.
    const dates = one.role === 'retained' ? [] : DATES;
    const pick = (key: (typeof DATES)[number]): Partial<Generation> =>
      other?.[key] === undefined ? {} : { [key]: later(one[key], other[key]) };
    const elsewhere = unionElsewhere(one.elsewhere, other?.elsewhere);
    return Object.assign(
      { ...one },
      ...dates.map(pick),
      elsewhere === undefined ? {} : { elsewhere },
    ) as Generation;
  }),
});
