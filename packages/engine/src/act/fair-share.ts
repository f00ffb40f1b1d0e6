import type { Action, LeafWrite } from '@handover/core';
import type { Observation } from '../observe/observe.ts';
import { KEY_COST } from './key-maker.ts';

/** What one pass writes at most; and what it spends on costly keys (`KEY_COST`), in all and for one namespace. */
const MOST_WRITES = 256;
const MOST_COST = { inAll: 24, each: 12 } as const;

const costOf = ({ responsibilities }: Observation, action: Action): number => {
  const isIssued = action.kind === 'write-leaf' && action.issue !== undefined;
  const key = isIssued ? responsibilities.leaves.get(action.object)?.spec.key : undefined;
  return key === undefined ? 0 : KEY_COST[key];
};

/** The leaves that other namespaces ask for, one of each namespace after the other; the first is drawn. */
const inTurns = (
  leaves: ReadonlyMap<string, readonly LeafWrite[]>,
  random: (bytes: number) => Uint8Array,
): readonly LeafWrite[] => {
  const shares = [...leaves.values()];
  const first = shares.length < 2 ? 0 : new DataView(random(4).slice().buffer).getUint32(0) % shares.length;
  const order = [...shares.slice(first), ...shares.slice(0, first)];
  const longest = Math.max(0, ...shares.map(({ length }) => length));
  return Array.from({ length: longest }, (_, round) => order.flatMap((share) => share[round] ?? [])).flat();
};

/**
 * The part of a plan that one pass carries out; the next pass, which follows at once, sees what is left. What the authority's
 * own namespace and its bundles need comes first. Leaves of other namespaces follow in turns, and costly keys within a bound: what
 * a tenant asks for delays that tenant's own leaves.
 */
export const fairShare = (
  actions: readonly Action[],
  observation: Observation,
  random: (bytes: number) => Uint8Array,
): readonly Action[] => {
  const own = observation.responsibilities.authority.metadata.namespace;
  const first: Action[] = [];
  const others = new Map<string, LeafWrite[]>();
  for (const action of actions) {
    const leaf =
      action.kind === 'write-leaf' ? observation.responsibilities.leaves.get(action.object) : undefined;
    const namespace = leaf?.metadata.namespace ?? own;
    if (action.kind !== 'write-leaf' || namespace === own) first.push(action);
    else others.set(namespace, [...(others.get(namespace) ?? []), action]);
  }
  const spent = { inAll: 0, each: new Map<string, number>() };
  return [...first, ...inTurns(others, random)]
    .filter((action) => {
      const cost = costOf(observation, action);
      if (cost === 0 || action.kind !== 'write-leaf') return true;
      const namespace = observation.responsibilities.leaves.get(action.object)?.metadata.namespace ?? own;
      const before = spent.each.get(namespace) ?? 0;
      if (spent.inAll + cost > MOST_COST.inAll || before + cost > MOST_COST.each) return false;
      spent.inAll += cost;
      spent.each.set(namespace, before + cost);
      return true;
    })
    .slice(0, MOST_WRITES);
};
