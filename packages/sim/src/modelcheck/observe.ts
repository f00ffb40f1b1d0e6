import {
  type Anchor,
  type ConsumerSeen,
  type ObjectSeen,
  type Observed,
  type Policy,
  type Proof,
  withRole,
} from '@handover/core';
import { day, duration, instant } from '@handover/material';
import { writtenBy } from './lent.ts';
import { BASE, type ModelPod, type ModelWorld, type Nature, type State, ticks } from './model.ts';
import { isTheirs } from './neighbour.ts';

/** What a controller observes of a state: everything that it could know. */
export const observeModel = (world: ModelWorld, state: State): Observed => ({
  authority: state.authority,
  objects: Object.entries(state.objects).map(
    ([id, object]): ObjectSeen => ({
      id,
      version: String(object.version),
      revision: object.revision,
      anchors: object.anchors,
      changedAt: object.changedAt,
      leaf: object.leaf,
      ...(world.elsewhere?.includes(id) === true ? { elsewhere: true } : {}),
      ...(object.leaf !== undefined && state.leaves[id] === undefined && world.lent?.[id] === undefined
        ? { forsaken: true as const }
        : {}),
      ...writtenBy(world, state, id),
      ...(world.slow?.includes(id) === true ? { cacheLag: ticks(world, 3) } : {}),
    }),
  ),
  consumers: Object.entries(state.consumers).flatMap(([id, consumer]): ConsumerSeen[] => {
    const nature = natureOf(world, id);
    if (nature.hidden === true) return [];
    return [
      {
        id,
        reload: nature.reload,
        ownersWord: nature.ownersWord === true,
        blocks: nature.outside !== true,
        presents: nature.presents === undefined || nature.misspelt === true ? [] : [nature.presents],
        ...expectsOf(nature),
        verifies: nature.verifies === undefined ? [] : [nature.verifies],
        ...(consumer.created === undefined ? {} : { createdAt: consumer.created }),
        ...(nature.completes === true ? { completes: true } : {}),
        instances: consumer.pods.map((pod, index) => ({
          uid: `${id}-${index}`,
          createdAt: pod.created,
          ready: !pod.pending,
          stamp: pod.stamp,
          proofs: pod.pending ? [] : proofsOf(world, state, nature, pod),
          ...(nature.unread === true ? { unread: { trust: 'unread', leaf: 'unread' } } : {}),
        })),
        workload:
          nature.unrollable === true || nature.reload === 'field'
            ? undefined
            : {
                stamp: consumer.stamp,
                rolling: consumer.pods.some((pod) => pod.ending || !sameStamp(pod, consumer.stamp)),
              },
      },
    ];
  }),
  rotate: state.rotate,
  distrust: state.distrust,
  adoptable: state.authority === undefined ? adoptable(state) : [],
});

export const natureOf = (world: ModelWorld, id: string): Nature => {
  const nature = world.natures[id];
  if (nature === undefined) throw new TypeError(`no such consumer: ${id}`);
  return nature;
};

export const sameStamp = (pod: ModelPod, stamp: ModelStamp): boolean =>
  stamp === undefined || JSON.stringify(pod.stamp) === JSON.stringify(stamp);
type ModelStamp = ModelPod['stamp'];

const expectsOf = ({ presents, askedAt, misspelt }: Nature): Pick<ConsumerSeen, 'expects'> =>
  presents === undefined || (askedAt === undefined && misspelt !== true)
    ? {}
    : { expects: { leaf: presents, object: misspelt === true ? undefined : presents } };

/** What the process at its declared address shows. */
const proofsOf = (world: ModelWorld, state: State, nature: Nature, pod: ModelPod): readonly Proof[] => {
  if (nature.probed === true) return [probedAt(pod, state, nature)];
  if (nature.acknowledges !== true) return [];
  if (nature.askedAt === undefined) return [proofOf(pod, state, nature)];
  const object = natureOf(world, nature.askedAt).presents;
  const others = state.consumers[nature.askedAt]?.pods ?? [];
  return others.map((other) => ({
    ...proofOf(other, state, natureOf(world, nature.askedAt ?? '')),
    // Leaves of all objects have the same names in a model.
    ...(object === undefined || other.chain[0] === undefined
      ? {}
      : { leaves: [{ fingerprint: other.chain[0], object }] }),
  }));
};

const proofOf = (pod: ModelPod, state: State, nature: Nature): Proof => ({
  ...probedAt(pod, state, nature),
  by: 'acknowledged',
  anchors: pod.bundle,
  complete: true,
});

/** A handshake shows the leaf and what is sent behind it: whether the cross-certificate is missing only where there is one. */
const probedAt = (
  { chain: [leaf, ...behind] }: ModelPod,
  { authority, now }: State,
  nature: Nature,
): Proof => {
  if (leaf === undefined) return { by: 'probed', at: now };
  const issuer = modelIssuer(leaf);
  const current = authority && withRole(authority, 'current');
  const cross = authority?.crosses.find(({ of }) => of === current?.number);
  const isToBeSeen = cross !== undefined && issuer === current?.anchors[0].fingerprint;
  const isSent = nature.stripsCross !== true && behind.some((one) => one === cross?.fingerprint);
  return {
    by: 'probed',
    leaves: [{ fingerprint: leaf }],
    issuer,
    at: now,
    ...(isToBeSeen ? { chain: isSent ? 'sends' : 'strips' } : {}),
  };
};

/** `l2r0` was signed by `g2`; with dates, those of its issuer follow the slash. */
export const modelIssuer = (leaf: string): string => {
  const [own = '', issuerDates] = leaf.split('/');
  const generation = /^l(\d+)/.exec(own)?.[1] ?? '';
  return issuerDates === undefined ? `g${generation}` : `g${generation}@${issuerDates}`;
};

const adoptable = (state: State): Anchor[] => {
  const names = new Set(
    Object.values(state.objects).flatMap((object) => object.anchors.map((a) => a.fingerprint)),
  );
  return [...names].map((fingerprint) => ({
    fingerprint,
    notBefore: instant(BASE - 400 * day),
    notAfter: instant(BASE + 4000 * day),
  }));
};

const lifetimeIn = (
  { leafLifetime, shorter = leafLifetime }: NonNullable<ModelWorld['timed']>,
  spec: number,
): number => (spec > 0 ? shorter : leafLifetime);

export const policyOf = (world: ModelWorld, state: State): Policy => ({
  lifetime: world.timed === undefined ? duration(4000 * day) : ticks(world, world.timed.lifetime),
  rotate: { at: 1 },
  strategy: 'Phased',
  reloadWithin: ticks(world, 3),
  onBlocked: 'Wait',
  patience: duration(1000 * day),
  paused: false,
  maxConcurrentRollouts: 3,
  cacheLag: ticks(world, 2),
  consumersFound: true,
  ...world.policy,
  leaves: Object.entries(state.leaves).map(([object, leaf]) => ({
    object,
    spec: String(leaf.spec),
    lifetime:
      world.timed === undefined ? duration(3000 * day) : ticks(world, lifetimeIn(world.timed, leaf.spec)),
    renewAt: 0.66,
    reuseKey: true,
    createdAt: leaf.createdAt,
    ...(isTheirs(world, object) ? { elsewhere: true } : {}),
    ...(world.others?.includes(object) === true ? { usedByOthers: true } : {}),
  })),
  bundles: world.bundles.map((object) => ({
    object,
    extra: [],
    ...(isTheirs(world, object) ? { elsewhere: true } : {}),
  })),
});
