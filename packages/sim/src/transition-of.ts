import { type Anchor, type AuthorityState, type Transition, withRole } from '@handover/core';
import type { FaultName } from './faults.ts';

/** What happened between two states of the authority, read from the states and not reported by the controller. */
export const transitionOf = (before: AuthorityState | undefined, after: AuthorityState): Transition => {
  const had = (number: number): boolean =>
    before?.generations.some((generation) => generation.number === number) === true;
  /** It was no retained CA before. */
  const signed = (number: number): boolean =>
    before?.generations.some((item) => item.number === number && item.role !== 'retained') === true;
  const current = withRole(after, 'current');
  const moved = current?.number !== (before === undefined ? undefined : withRole(before, 'current')?.number);
  const crossBy = after.crosses.find((cross) => cross.of === current?.number)?.by;
  if (before !== undefined && after.distrusts > before.distrusts) {
    const old = before.generations.filter((item) => item.role === 'distrusted').map((item) => item.number);
    return {
      kind: 'distrust',
      generations: after.generations
        .filter((item) => item.role === 'distrusted' && !old.includes(item.number))
        .map((item) => item.number),
      replacement:
        moved && current !== undefined
          ? { generation: current.number, minted: !had(current.number), crossBy }
          : undefined,
    };
  }
  const minted = after.generations.find((generation) => !had(generation.number));
  if (minted !== undefined) {
    const adopted = before === undefined && current?.hasKey === false ? current.anchors : undefined;
    const adopts: readonly [Anchor, ...Anchor[]] | undefined = adopted;
    const as = minted.role === 'current' ? 'current' : 'next';
    const id = after.ids.find((item) => before?.ids.includes(item) !== true);
    return { kind: 'mint', generation: minted.number, as, id, adopts };
  }
  if (moved && current !== undefined) return { kind: 'activate', generation: current.number, crossBy };
  const gone = (before?.generations ?? []).filter(
    (item) => !after.generations.some((other) => other.number === item.number),
  );
  const [first] = gone;
  if (first?.role === 'retained') return { kind: 'drop', generation: first.number };
  if (first !== undefined && first.role !== 'distrusted') return { kind: 'retire', generation: first.number };
  const retained = after.generations.find(({ number, role }) => role === 'retained' && signed(number));
  if (retained !== undefined) {
    const { number, elsewhere, unseenUntil } = retained;
    const retain = {
      ...(elsewhere === undefined ? {} : { elsewhere }),
      ...(unseenUntil === undefined ? {} : { unseenUntil }),
    };
    return { kind: 'retire', generation: number, retain };
  }
  if (before?.revision === after.revision && current?.elsewhere !== undefined)
    return { kind: 'record-issuance', generation: current.number, elsewhere: current.elsewhere };
  return { kind: 'distrust-done', generations: gone.map((item) => item.number) };
};

/** Faults that show in a swap. */
export const faultsIn = (swap: Transition, faults: ReadonlySet<FaultName>): readonly FaultName[] => {
  if (swap.kind !== 'mint') return [];
  const found: FaultName[] = [];
  if (swap.adopts !== undefined) found.push('adoption');
  else if (swap.id?.startsWith('schedule-') === true)
    found.push(faults.has('expiry') ? 'expiry' : 'schedule');
  if (swap.id === 'second') found.push('second-rotation');
  return found;
};
