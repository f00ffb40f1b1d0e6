import { day, hour, type Instant, instant } from '@handover/material';
import type { AuthorityState, Generation } from './authority.ts';

const later = (a: Instant | undefined, b: Instant): Instant => (a === undefined || b > a ? b : a);

const DATES = ['lentUntil', 'unseenUntil', 'podsUntil'] as const satisfies readonly (keyof Generation)[];
const ends = (generation: Generation): readonly unknown[] => DATES.map((date) => generation[date]);

/**
 * The state to write before the current CA signs a leaf for another program; undefined: the state covers it already. The revision stays:
 * nothing is derived from these dates. They are rounded up, so that many leaves need few writes: to whole hours for pods,
 * whose leaves live for hours, else to whole days.
 */
export const lending = (
  state: AuthorityState,
  notAfter: Instant,
  isUnseen: boolean,
  forPod = false,
): AuthorityState | undefined => {
  const generations = state.generations.map((one): Generation => {
    if (one.role !== 'current') return one;
    const step = forPod ? hour : day;
    const end = instant(Math.min(Math.ceil(notAfter / step) * step, one.anchors[0].notAfter));
    if (forPod) return { ...one, podsUntil: later(one.podsUntil, end) };
    const lent = { ...one, lentUntil: later(one.lentUntil, end) };
    return isUnseen ? { ...lent, unseenUntil: later(one.unseenUntil, end) } : lent;
  });
  const changed = generations.some((one, index) =>
    ends(one).some((end, at) => end !== ends(state.generations[index] ?? one)[at]),
  );
  return changed ? { ...state, generations } : undefined;
};

/** A state with the later dates of both: what another writer raised meanwhile is kept. */
export const withLent = (state: AuthorityState, stored: AuthorityState | undefined): AuthorityState => ({
  ...state,
  generations: state.generations.map((one) => {
    const other = stored?.generations.find(({ number }) => number === one.number);
    const pick = (key: (typeof DATES)[number]): Partial<Generation> =>
      other?.[key] === undefined ? {} : { [key]: later(one[key], other[key]) };
    return Object.assign({ ...one }, ...DATES.map(pick));
  }),
});
