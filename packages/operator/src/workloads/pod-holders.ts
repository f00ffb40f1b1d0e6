import {
  type AuthorityState,
  FOREIGN_SPEC,
  type Generation,
  type InstanceSeen,
  type LeafSeen,
  type Reload,
  withRole,
} from '@handover/core';
import type { ConsumerFound } from '@handover/engine';
import { instant, second } from '@handover/material';
import type { PodLeaf } from './pod-signers.ts';
import type { Pod } from './pods.ts';

/** Both the API server's dates and the authority's are in whole seconds, and several servers may tell different ones. */
const MARGIN_MS = 10 * second;

interface Holder {
  readonly pod: Pod;
  readonly blocks: boolean;
  readonly reload: Reload;
  readonly instance: InstanceSeen;
  readonly leaf: (PodLeaf & { readonly issuer: string }) | undefined;
  readonly state: AuthorityState;
  /** How many certificates of this authority the pod has. */
  readonly sources: number;
  /** Each request of the pod that is known was refused. */
  readonly refused: boolean;
}

const endOf = ({ anchors: [{ notAfter }], podsUntil }: Generation) =>
  instant(Math.min(podsUntil ?? Number.POSITIVE_INFINITY, notAfter));

/** A pod whose certificate is not known has one of the oldest CA that may have signed while the pod was there. */
const supposed = ({ pod, state }: Holder): LeafSeen | undefined => {
  const current = withRole(state, 'current');
  const signed = state.generations.filter(({ role }) => role !== 'next' && role !== 'current');
  const [oldest = current] = signed
    .filter(({ since, podsUntil }) => podsUntil !== undefined && !(pod.createdAt - MARGIN_MS > since))
    .sort((a, b) => a.number - b.number);
  if (oldest === undefined) return undefined;
  return {
    fingerprint: 'unknown',
    issuer: oldest.anchors[0].fingerprint,
    chain: [],
    notBefore: pod.createdAt,
    notAfter: endOf(oldest),
    spec: FOREIGN_SPEC,
    writtenAt: pod.createdAt,
    issuerSince: pod.createdAt,
    replacedOne: true,
    othersExpire: undefined,
  };
};

const known = ({ certificate, issuedAt, issuer }: NonNullable<Holder['leaf']>): LeafSeen => ({
  fingerprint: certificate.fingerprint,
  issuer,
  chain: [],
  notBefore: certificate.notBefore,
  notAfter: certificate.notAfter,
  spec: FOREIGN_SPEC,
  writtenAt: issuedAt,
  issuerSince: issuedAt,
  replacedOne: true,
  othersExpire: undefined,
});

/**
 * A request does not name its volume, and the kubelet refreshes each volume by its own dates. So neither the newest certificate of a pod with several
 * nor a handshake with it says anything about the others.
 */
const asOneOfSeveral = (holder: Holder): Holder => ({
  ...holder,
  leaf: undefined,
  instance: { ...holder.instance, proofs: [] },
});

const remarkOn = ({ sources, refused, leaf }: Holder): string | undefined => {
  if (refused)
    return 'its request was refused, and the kubelet asks no more for this pod; correct what its Events name, and delete it';
  if (sources > 1)
    return `the pod has ${sources} certificates of this Authority, and no request says which volume it is for; a new pod has none of the old CA`;
  return leaf === undefined
    ? 'which certificate it has is not known until the kubelet refreshes it; a shorter lifetime shortens this'
    : undefined;
};

/** A pod with a certificate of its own, and that certificate as an object of the plan: the kubelet has its key, and renews it by itself. */
export const holderOf = (found: Holder): ConsumerFound => {
  const holder = found.sources > 1 ? asOneOfSeveral(found) : found;
  const { pod, blocks, reload, instance, leaf } = holder;
  const { namespace, name } = pod;
  const remark = remarkOn(holder);
  const object = `${namespace}/podcertificates/${name}`;
  return {
    id: `pod ${namespace}/${name}`,
    reload,
    ownersWord: reload === 'hot',
    blocks,
    namespace,
    presents: [object],
    verifies: [],
    instances: [instance],
    workload: undefined,
    own: {
      id: object,
      version: pod.uid,
      revision: undefined,
      anchors: [],
      changedAt: pod.createdAt,
      leaf: leaf === undefined ? supposed(holder) : known(leaf),
      writtenBy: {
        program: 'the kubelet',
        asked: 'never',
        ofOneProcess: true,
        since: instant(pod.createdAt - MARGIN_MS),
        namespace,
        ...(remark === undefined ? {} : { remark }),
      },
    },
  };
};
