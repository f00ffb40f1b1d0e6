import { type Generation, withRole } from './authority.ts';
import { EXPIRY_GRACE } from './desired.ts';
import { lagOf, type PlanningContext, serves } from './evidence.ts';
import type { Blocker } from './gates.ts';
import type { Observed } from './observed.ts';
import { isLeafOf } from './old-leaves.ts';
import { awaitedLeaves, lentObjects } from './reissues.ts';
import { lengthOf } from './waiting.ts';

/**
 * Leaves in other namespaces that only another program can replace. The certificate itself is asked, not what is said about it: it ends
 * within `issueTo.maxLifetime`, so that nothing there delays a rotation for longer. After a new one came, programs have `reloadWithin`.
 */
export const lentElsewhere = (context: PlanningContext, seen: Observed, current: Generation): Blocker[] => {
  const { clock, policy, elsewhere } = context;
  const theirs = lentObjects(context).filter(({ id }) => elsewhere.has(id));
  const loading = theirs.flatMap((object): Blocker[] => {
    const { id, leaf } = object;
    if (leaf === undefined || !isLeafOf(object, current)) return [];
    const presenters = seen.consumers.filter(({ presents }) => presents.includes(id));
    const shown = presenters.length > 0 && presenters.every((one) => serves(context, one, id, current).ok);
    if (shown || clock.aged(leaf.issuerSince, policy.reloadWithin + lagOf(context, id))) return [];
    const waitsFor = `to be loaded: programs of other namespaces have reloadWithin (${lengthOf(policy.reloadWithin)}) from the new leaf`;
    return [{ consumer: id, waitsFor, since: current.since }];
  });
  return [...awaitedLeaves(context, theirs, current), ...loading];
};

/** Leaves of the old CA that no object shows: only their end is known. */
export const unseenLeaves = ({ state, clock }: PlanningContext): Blocker[] => {
  const previous = withRole(state, 'previous');
  const end = previous?.unseenUntil;
  if (previous === undefined || end === undefined || clock.reached(end + EXPIRY_GRACE)) return [];
  const waitsFor = `waiting until ${new Date(end + EXPIRY_GRACE).toISOString()}: until then leaves of CA generation ${previous.number} are valid that no Certificate shows (CSI drivers, CertificateRequests created by hand)`;
  return [{ consumer: 'leaves without a Certificate', waitsFor, since: previous.since }];
};
