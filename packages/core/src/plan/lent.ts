import { withRole } from './authority.ts';
import { EXPIRY_GRACE } from './desired.ts';
import type { PlanningContext } from './evidence.ts';
import type { Blocker } from './gates.ts';

/** Leaves of the old CA that no object shows: only their end is known. */
export const unseenLeaves = ({ state, clock }: PlanningContext): Blocker[] => {
  const previous = withRole(state, 'previous');
  const end = previous?.unseenUntil;
  if (previous === undefined || end === undefined || clock.reached(end + EXPIRY_GRACE)) return [];
  const waitsFor = `waiting until ${new Date(end + EXPIRY_GRACE).toISOString()}: until then leaves of CA generation ${previous.number} are valid that no Certificate shows (CSI drivers, CertificateRequests created by hand)`;
  return [{ consumer: 'leaves without a Certificate', waitsFor, since: previous.since }];
};
