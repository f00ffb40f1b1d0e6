import { iso } from '@handover/material';
import { type Generation, withRole } from './authority.ts';
import type { PlanningContext } from './evidence.ts';
import type { GateMode } from './gate-mode.ts';
import type { Blocker } from './gates.ts';
import type { ObjectSeen } from './observed.ts';
import { isLeafOf, oldLeavesGone } from './old-leaves.ts';

/** Asks the program that writes an object for a new leaf. */
export interface Reissue {
  readonly kind: 'reissue';
  readonly object: string;
  /** Version the decision rests on: on any other the request must not land. */
  readonly expect: string;
  readonly why: string;
  /** Outside the authority's namespace: its failure is its owner's to repair. */
  readonly elsewhere?: true;
}

/** New leaves that are on their way at one time, for each namespace: a thousand at once would keep the program and the CA from all else. */
export const MOST_REISSUES = 20;

/** Objects that other programs write. */
export const lentObjects = ({ objects }: Pick<PlanningContext, 'objects'>): readonly ObjectSeen[] =>
  [...objects.values()].filter(({ writtenBy }) => writtenBy !== undefined);

const hasAnchorOf = ({ anchors }: ObjectSeen, generation: Generation): boolean =>
  generation.anchors.some((ca) => anchors.some(({ fingerprint }) => fingerprint === ca.fingerprint));

/** Why an object needs a new leaf; undefined: it does not. Its bundle changes with its leaf only. */
const reasonFor = (
  { state }: PlanningContext,
  object: ObjectSeen,
  current: Generation,
  mode: GateMode,
): string | undefined => {
  if (object.leaf === undefined) return undefined;
  if (!isLeafOf(object, current)) return `CA generation ${current.number} signs now`;
  const bad = state.generations.find((one) => one.role === 'distrusted' && hasAnchorOf(object, one));
  if (bad !== undefined) return `its bundle holds CA generation ${bad.number}, which is distrusted`;
  const next = withRole(state, 'next');
  // No cross-certificate will make its readers accept the new CA.
  return mode.strict !== undefined && next !== undefined && !hasAnchorOf(object, next)
    ? `its bundle lacks CA generation ${next.number}`
    : undefined;
};

/** New leaves to ask for now, a wave at a time. A namespace whose leaves do not come delays its own leaves only. */
export const reissuesFor = (context: PlanningContext, mode: GateMode): readonly Reissue[] => {
  const current = withRole(context.state, 'current');
  if (current?.hasKey !== true) return [];
  const lent = lentObjects(context);
  const isElsewhere = ({ id }: ObjectSeen): boolean => context.elsewhere.has(id);
  const placeOf = (object: ObjectSeen): string =>
    isElsewhere(object) ? (object.writtenBy?.namespace ?? 'elsewhere') : '';
  const open = new Map<string, number>();
  const addOne = (place: string): unknown => open.set(place, (open.get(place) ?? 0) + 1);
  for (const object of lent) {
    const { asked, failing, remark } = object.writtenBy ?? {};
    // What is slow must not keep the others from being asked.
    if (asked === 'pending' && failing === undefined && remark === undefined) addOne(placeOf(object));
  }
  return lent.flatMap((object): Reissue[] => {
    const why = object.writtenBy?.asked === 'can' ? reasonFor(context, object, current, mode) : undefined;
    const place = placeOf(object);
    if (why === undefined || (open.get(place) ?? 0) >= MOST_REISSUES) return [];
    addOne(place);
    const mark = isElsewhere(object) ? ({ elsewhere: true } as const) : {};
    return [{ kind: 'reissue', object: object.id, expect: object.version, why, ...mark }];
  });
};

/** Objects of other programs that still hold a leaf of another CA. No owner's word stands in for this: the certificate itself is there. */
export const awaitedLeaves = (
  context: PlanningContext,
  objects: readonly ObjectSeen[],
  current: Generation,
): Blocker[] =>
  objects.flatMap((object) => {
    const { id, leaf, writtenBy } = object;
    if (leaf === undefined || writtenBy === undefined || isLeafOf(object, current)) return [];
    // What its one process shows decides: gate 2 asks that process.
    if (writtenBy.ofOneProcess === true) return [];
    if (oldLeavesGone(context, id, current) !== undefined) return [];
    const { program, asked, failing, remark, ofOneProcess } = writtenBy;
    const end = iso(leaf.notAfter);
    const how =
      failing ?? remark ?? (asked === 'never' ? `${program} renews it without being asked` : undefined);
    // Whether a process still has one is not always known.
    const old = ofOneProcess === true ? 'any old leaf of it ends by' : 'its old leaf ends at';
    const detail = how === undefined ? '' : ` (${how}; ${old} ${end})`;
    const waitsFor = `to get a leaf of CA generation ${current.number} from ${program}${detail}`;
    return [{ consumer: id, waitsFor, since: current.since }];
  });
