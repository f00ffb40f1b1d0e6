import type { ConsumerSeen, ObjectSeen, Observed, Proof } from '@handover/core';
import { day, instant } from '@handover/material';
import type { ModelWorld, State } from './model.ts';

/**
 * What the owner of another namespace does from now on, at every moment: nothing; rewrites its objects; blocks writes to them, openly or
 * not; deletes them; claims whatever would move the authority; denies everything.
 */
export const MODES = ['honest', 'rewrites', 'obstructs', 'immutable', 'gone', 'claims', 'denies'] as const;
export type Mode = (typeof MODES)[number];

/** Its name in a trace. */
export const TURNS: Readonly<Record<Mode, string>> = {
  honest: 'is honest from now on',
  rewrites: 'rewrites its objects all the time',
  obstructs: 'keeps its objects from being written',
  immutable: 'lets writes to its objects fail',
  gone: 'deletes its objects whenever they are there',
  claims: 'claims whatever it likes',
  denies: 'denies everything',
};

/** Higher than any revision of these worlds. */
const MADE_UP = 99;

export const isTheirs = (
  {
    neighbour,
    elsewhere,
    lent,
  }: { readonly [Key in 'neighbour' | 'elsewhere' | 'lent']?: ModelWorld[Key] | undefined },
  object: string,
): boolean =>
  neighbour?.includes(object) === true ||
  elsewhere?.includes(object) === true ||
  lent?.[object]?.elsewhere === true;

/** Whether a write to it lands and stays. */
export const staysWritten = (world: ModelWorld, { mode }: State, object: string): boolean =>
  !isTheirs(world, object) || mode === 'honest' || mode === 'denies' || mode === 'obstructs';

const objectAs = (object: ObjectSeen, { mode, now }: State): readonly ObjectSeen[] => {
  const seen = { ...object, elsewhere: true };
  switch (mode) {
    case 'gone':
      return [];
    case 'obstructs':
      return [{ ...seen, obstacle: 'it is not ours' }];
    case 'claims':
      return [{ ...seen, revision: MADE_UP }];
    case 'rewrites':
      return [
        {
          ...seen,
          revision: 0,
          changedAt: now,
          anchors: seen.anchors.map((held) => ({ ...held, since: now })),
          leaf: seen.leaf && { ...seen.leaf, spec: 'foreign', writtenAt: now, issuerSince: now },
        },
      ];
    case 'honest':
    case 'immutable':
    case 'denies':
      return [seen];
    default:
      return mode satisfies never;
  }
};

const proofAs = ({ mode, now, authority }: State): readonly Proof[] => {
  const all = authority?.generations.flatMap(({ anchors }) => anchors.map((one) => one.fingerprint)) ?? [];
  const [newest = ''] = all;
  const base = { by: 'acknowledged', complete: true, at: now } as const;
  if (mode === 'denies') return [{ ...base, anchors: [], issuer: 'unknown' }];
  if (mode === 'claims') return [{ ...base, anchors: all, issuer: newest, chain: 'strips' }];
  return [];
};

const consumerAs = (state: State, consumer: ConsumerSeen): ConsumerSeen => {
  if (consumer.blocks) return consumer;
  const { mode } = state;
  const lies = mode === 'claims';
  // It may claim anything: that it presents other objects, that it strips the cross-certificate, that it never gets ready.
  const own = Object.keys(state.leaves);
  return {
    ...consumer,
    namespace: 'evil',
    presents: lies ? own : consumer.presents,
    instances: consumer.instances.map((instance) => ({
      ...instance,
      proofs: proofAs(state),
    })),
    workload:
      consumer.workload === undefined || mode === 'honest'
        ? consumer.workload
        : { ...consumer.workload, rolling: true },
  };
};

/** The observation of a world with such a neighbour. */
export const besideNeighbour = (world: ModelWorld, state: State, seen: Observed): Observed => {
  if (world.neighbour === undefined) return seen;
  const planted: ObjectSeen = {
    id: 'planted',
    version: '1',
    revision: MADE_UP,
    anchors: [],
    changedAt: instant(state.now - day),
    leaf: undefined,
  };
  return {
    ...seen,
    objects: [
      ...seen.objects.flatMap((object) => (isTheirs(world, object.id) ? objectAs(object, state) : [object])),
      ...(state.mode === 'claims' ? [planted] : []),
    ],
    consumers: seen.consumers.map((consumer) => consumerAs(state, consumer)),
  };
};
