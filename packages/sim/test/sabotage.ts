import type { Observed, Plan, Transition } from '@handover/core';
import {
  claimOf,
  digestOf,
  type FileData,
  type Home,
  type ObjectRecord,
  type ReadSnapshot,
  type Snapshot,
  type StoredObject,
  sealed,
} from '@handover/engine';
import type { FaultName } from '../src/faults.ts';
import type { SimulationFailure } from '../src/invariant.ts';
import { SIMULATED_AUTHORITY } from '../src/resources.ts';
import { runSeed } from '../src/simulate.ts';
import { STRATEGIES, type Strategy } from '../src/strategies.ts';

export const sabotaged = (decide: Strategy['plan']): Strategy => ({ ...STRATEGIES.phased, plan: decide });

/** Takes a step that the plan withholds. */
export const force = (seen: Observed, made: Plan, transition: Transition | undefined): Plan => {
  const expectRevision = seen.authority?.revision ?? 0;
  if (transition === undefined || made.actions.length > 0) return made;
  const swap = { ...transition, expect: expectRevision, revision: expectRevision + 1, why: 'of sabotage' };
  return { ...made, blockedBy: [], actions: [swap] };
};

export const rolesOf = (seen: Observed, role: 'previous' | 'distrusted'): readonly number[] =>
  (seen.authority?.generations ?? []).filter((item) => item.role === role).map((item) => item.number);

export interface Worlds {
  readonly faults?: readonly FaultName[];
  readonly meddle?: (home: Home) => Home;
  /** The first seed that showed it when the test was written: no need to go through all before it. Default 1. */
  readonly from?: number;
  readonly seeds?: number;
}

/** Whether one of these worlds shows this kind of failure. */
export const shows = async (
  strategy: Strategy,
  kind: SimulationFailure['kind'],
  { faults, meddle = (home) => home, from = 1, seeds = 200 }: Worlds = {},
): Promise<boolean> => {
  for (let seed = from; seed < from + seeds; seed++) {
    const { firstFailure } = await runSeed(seed, { strategy: 'phased', faults }, { strategy, meddle });
    if (firstFailure?.kind === kind) return true;
  }
  return false;
};

/** A home that shows objects otherwise than they are, and takes every record for its own, sealed or not. */
const showing =
  (changed: (id: string, stored: Recorded) => Recorded) =>
  (home: Home): Home => {
    const believing = (readReal: ReadSnapshot) => async (): Promise<Snapshot> => {
      const snapshot = await readReal();
      const { objects, authorities } = snapshot;
      const read = async (id: string): Promise<StoredObject | undefined> => {
        const [stored, authority] = [await objects.read(id), await authorities.load(SIMULATED_AUTHORITY)];
        if (stored?.record === undefined || authority === undefined) return stored;
        const shown = changed(id, { ...stored, record: stored.record });
        const seal = sealed(id, shown.record, SIMULATED_AUTHORITY, authority.sealKey);
        return { ...shown, ...claimOf(shown.record, seal) };
      };
      return { ...snapshot, objects: { ...objects, read } };
    };
    return { ...home, fresh: believing(home.fresh), cached: home.cached && believing(home.cached) };
  };
type Recorded = StoredObject & { readonly record: ObjectRecord };

export const credulous = showing((_, stored) => stored);

/** Shows the first bytes of each bundle for ever, under the newest record. */
export const stale = (home: Home): Home => {
  const first = new Map<string, FileData>();
  return showing((id, stored) => {
    if (!id.includes('/configmaps/')) return stored;
    const data = first.get(id) ?? stored.data;
    first.set(id, data);
    return { ...stored, data, record: { ...stored.record, digest: digestOf(data) } };
  })(home);
};
