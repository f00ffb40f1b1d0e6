import { hour, type Instant, iso } from '@handover/material';
import type { Generation } from './authority.ts';
import type { PlanningContext } from './evidence.ts';
import type { Policy } from './policy.ts';
import { isValidYet } from './transition.ts';
import type { Note } from './writes.ts';

/** Certificates begin an hour back, because a peer's clock may be behind ours. */
export const SKEW = hour;

export type Closeness = 'ExpiringSoon' | 'Critical';

/**
 * Shares of the time between the moment something should have been replaced and its end. Between the two lies the moment at
 * which a covered rotation stops waiting (0.75, see gates.ts): first a warning, then the way out, then an alarm.
 */
const SHARES = { ExpiringSoon: 0.5, Critical: 0.9 } as const satisfies Record<Closeness, number>;

/** How soon something expires that should have been replaced at `due`; undefined: not soon. */
export const closeness = (due: number, end: Instant, now: Instant): Closeness | undefined => {
  const reached = (share: number): boolean => now >= due + share * Math.max(0, end - due);
  if (reached(SHARES.Critical)) return 'Critical';
  return reached(SHARES.ExpiringSoon) ? 'ExpiringSoon' : undefined;
};

/** When the schedule replaces a CA. */
export const rotationDueAt = ({ anchors: [ca] }: Generation, { rotate }: Pick<Policy, 'rotate'>): number => {
  // Its first hour lies before it was made (clock skew): counted in, a CA of a few minutes would be due at once.
  const begun = Math.min(ca.notBefore + SKEW, ca.notAfter);
  return 'at' in rotate ? begun + rotate.at * (ca.notAfter - begun) : ca.notAfter - rotate.before;
};

/** When a leaf is renewed. */
export const renewalDueAt = (
  leaf: { readonly notBefore: Instant; readonly notAfter: Instant },
  share: number,
): number => {
  const begun = leaf.notBefore + SKEW;
  return begun + share * (leaf.notAfter - begun);
};

/** Warnings about CAs that are in use, about to expire and not replaced yet: every leaf of such a CA expires with it. */
export const expiryNotes = ({ state, policy, clock }: PlanningContext): readonly Note[] =>
  state.generations.flatMap((generation): readonly Note[] => {
    const { role, number, anchors } = generation;
    if (role !== 'distrusted' && !isValidYet(generation, clock)) {
      const begins = iso(anchors[0].notBefore);
      const message = `not valid before ${begins}: it was created while the clock was ahead; another generation replaces it`;
      return [{ code: 'NotYetValid', object: `CA generation ${number}`, message }];
    }
    if (role !== 'current' && role !== 'previous') return [];
    const end = anchors[0].notAfter;
    const code = closeness(rotationDueAt(generation, policy), end, clock.now);
    if (code === undefined) return [];
    const over = clock.now >= end;
    const use = role === 'current' ? 'still signs' : 'its leaves may still be in use';
    const why = policy.paused
      ? 'spec.rotation.paused keeps it from being replaced'
      : 'blockedBy in status says what it waits for';
    return [
      {
        code,
        object: `CA generation ${number}`,
        message: `${over ? 'expired' : 'expires'} at ${iso(end)} and ${use}; ${why}`,
      },
    ];
  });
