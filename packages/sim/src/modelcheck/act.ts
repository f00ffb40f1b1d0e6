import {
  type Action,
  type Anchor,
  applyTransition,
  generationOf,
  type LeafWrite,
  type Made,
  type Swap,
} from '@handover/core';
import { day, hour, type Instant, instant } from '@handover/material';
import { askFor } from './lent.ts';
import { BASE, type ModelObject, type ModelPod, type ModelWorld, type State, ticks } from './model.ts';
import { natureOf } from './observe.ts';

const secondsOf = (time: Instant): number => Math.round((time - BASE) / 1000);
const datesOf = (name: string): string => name.split('/')[0]?.split('@')[1] ?? '';

/** The state after one action; undefined: its precondition no longer holds. */
export const perform = (
  world: ModelWorld,
  state: State,
  action: Action,
  seenStamp: string | undefined,
): State | undefined => {
  switch (action.kind) {
    case 'write-bundle':
    case 'write-leaf':
      return write(world, state, action);
    case 'reissue':
      return askFor(state, action);
    case 'stamp': {
      const consumer = state.consumers[action.consumer];
      if (consumer === undefined || JSON.stringify(consumer.stamp) !== seenStamp) return undefined;
      return {
        ...state,
        consumers: { ...state.consumers, [action.consumer]: { ...consumer, stamp: action.stamp } },
      };
    }
    default:
      return swap(world, state, action);
  }
};

const swap = (world: ModelWorld, state: State, action: Swap): State | undefined => {
  if (state.authority?.revision !== action.expect) return undefined;
  const bad =
    action.kind === 'distrust' ? [...new Set([...state.bad, ...action.generations])].sort() : state.bad;
  const issued = made(world, state, action);
  const authority = applyTransition(state.authority, action, issued, action.revision);
  const signed =
    issued.cross === undefined
      ? state.signed
      : [...new Set([...state.signed, issued.cross.fingerprint])].sort();
  return { ...state, authority, bad, signed };
};

const made = (world: ModelWorld, state: State, action: Swap): Made => {
  const minted =
    action.kind === 'mint'
      ? action.generation
      : action.kind === 'distrust' && action.replacement?.minted === true
        ? action.replacement.generation
        : undefined;
  const ca = minted === undefined ? undefined : mint(world, state, minted);
  const crossing =
    action.kind === 'activate' ? action : action.kind === 'distrust' ? action.replacement : undefined;
  const cross = crossing?.crossBy === undefined ? undefined : crossOf(world, state, crossing, ca);
  return { at: state.now, ...(ca && { ca }), ...(cross && { cross }) };
};

const mint = (world: ModelWorld, state: State, generation: number): Anchor => {
  if (world.timed === undefined) {
    return {
      fingerprint: `g${generation}`,
      notBefore: instant(BASE - 400 * day),
      notAfter: instant(BASE + 4000 * day),
    };
  }
  const notBefore = instant(state.now - hour);
  const notAfter = instant(state.now + ticks(world, world.timed.lifetime));
  return {
    fingerprint: `g${generation}@${secondsOf(notBefore)}~${secondsOf(notAfter)}`,
    notBefore,
    notAfter,
  };
};

const crossOf = (
  world: ModelWorld,
  state: State,
  crossing: { generation: number; crossBy: number | undefined },
  minted: Anchor | undefined,
): Made['cross'] => {
  const by =
    crossing.crossBy === undefined
      ? undefined
      : state.authority && generationOf(state.authority, crossing.crossBy);
  const of = minted ?? (state.authority && generationOf(state.authority, crossing.generation)?.anchors[0]);
  if (by === undefined || of === undefined || !by.hasKey)
    throw new TypeError('a cross-certificate without its CAs');
  const notAfter = instant(Math.min(of.notAfter, by.anchors[0].notAfter));
  const name = `x${crossing.generation}.${by.number}`;
  if (world.timed === undefined) return { fingerprint: name, notAfter };
  const dates = `${secondsOf(instant(state.now - hour))}~${secondsOf(notAfter)}`;
  return {
    fingerprint: `${name}@${dates}/${datesOf(by.anchors[0].fingerprint)}/${datesOf(of.fingerprint)}`,
    notAfter,
  };
};

const write = (
  world: ModelWorld,
  state: State,
  action: Action & { kind: 'write-bundle' | 'write-leaf' },
): State | undefined => {
  const before = state.objects[action.object];
  if ((before === undefined ? undefined : String(before.version)) !== action.expect) return undefined;
  const names = before?.anchors.map((held) => held.fingerprint) ?? [];
  const changed = JSON.stringify(names) !== JSON.stringify(action.anchors);
  const object: ModelObject = {
    version: (before?.version ?? 0) + 1,
    revision: action.revision,
    anchors: action.anchors.map((fingerprint) => ({
      fingerprint,
      since: before?.anchors.find((held) => held.fingerprint === fingerprint)?.since ?? state.now,
    })),
    changedAt: changed || before === undefined ? state.now : before.changedAt,
    leaf: action.kind === 'write-leaf' ? leafAfter(state, action, before) : undefined,
    stale:
      world.caches !== true || before === undefined
        ? []
        : [
            ...before.stale,
            {
              anchors: names,
              chain: modelChain(before),
              until: instant(state.now + ticks(world, world.slow?.includes(action.object) === true ? 3 : 2)),
            },
          ],
  };
  const written = {
    ...state,
    ...keptKey(state, action, before),
    objects: { ...state.objects, [action.object]: object },
  };
  return fallBehind(
    world,
    written,
    action.object,
    changed,
    modelChain(before).join() !== modelChain(object).join(),
  );
};

const numberOf = (name: string): number => Number(/^[gl](\d+)/.exec(name)?.[1] ?? -1);

/** Whether a key outlives the CA that was distrusted together with it. */
const keptKey = (
  state: State,
  action: Action & { kind: 'write-bundle' | 'write-leaf' },
  before: ModelObject | undefined,
): Pick<State, 'keptKey'> => {
  const issue = action.kind === 'write-leaf' ? action.issue : undefined;
  const old = before?.leaf;
  if (issue?.keepsKey !== true || old === undefined || state.bad.includes(issue.generation)) return {};
  return state.bad.includes(numberOf(old.issuer)) ? { keptKey: `${action.object} of ${old.issuer}` } : {};
};

export const modelChain = (object: ModelObject | undefined): readonly string[] =>
  object?.leaf === undefined ? [] : [object.leaf.fingerprint, ...object.leaf.chain];

const leafAfter = (state: State, action: LeafWrite, before: ModelObject | undefined): ModelObject['leaf'] => {
  const old = before?.leaf;
  const chain = action.chain ?? old?.chain ?? [];
  if (action.issue === undefined) return old && { ...old, chain };
  const { issue } = action;
  const issuer = state.authority && generationOf(state.authority, issue.generation)?.anchors[0].fingerprint;
  // The authority may have dropped a late writer's generation by now; its signature stays valid.
  const signedBy = issuer ?? `g${issue.generation}`;
  const again = old?.issuer === signedBy ? Number(/r(\d+)/.exec(old.fingerprint)?.[1] ?? 0) + 1 : 0;
  const dated = signedBy.includes('@')
    ? `@${secondsOf(issue.notBefore)}~${secondsOf(issue.notAfter)}/${datesOf(signedBy)}`
    : '';
  return {
    fingerprint: `l${issue.generation}r${again}${dated}`,
    issuer: signedBy,
    chain,
    notBefore: issue.notBefore,
    notAfter: issue.notAfter,
    spec: String(state.leaves[action.object]?.spec ?? 0),
    writtenAt: state.now,
    issuerSince: old?.issuer === signedBy ? old.issuerSince : state.now,
    replacedOne: issue.replacesOne,
    othersExpire: issue.othersExpire,
  };
};

/** For consumers that promised to reload in time, the time runs from the first write that they have not loaded. */
export const fallBehind = (
  world: ModelWorld,
  state: State,
  object: string,
  bundle: boolean,
  leaf: boolean,
): State => {
  const consumers = Object.fromEntries(
    Object.entries(state.consumers).map(([id, consumer]) => {
      const nature = natureOf(world, id);
      const late = (pod: ModelPod): ModelPod => ({
        ...pod,
        bundleBehind:
          bundle && nature.verifies === object ? (pod.bundleBehind ?? state.now) : pod.bundleBehind,
        leafBehind: leaf && nature.presents === object ? (pod.leafBehind ?? state.now) : pod.leafBehind,
      });
      return [
        id,
        promiseOf(world, id) === undefined ? consumer : { ...consumer, pods: consumer.pods.map(late) },
      ];
    }),
  );
  return { ...state, consumers };
};

/** Within how many milliseconds of a write it has loaded it; undefined: no promise. */
export const promiseOf = (world: ModelWorld, id: string): number | undefined => {
  const nature = natureOf(world, id);
  if (nature.hidden === true || nature.neverReloads === true) return undefined;
  if (nature.reload === 'field') return ticks(world, 2);
  if (nature.reload === 'restart' || nature.acknowledges === true) return undefined;
  return world.policy.reloadWithin ?? ticks(world, 3);
};
