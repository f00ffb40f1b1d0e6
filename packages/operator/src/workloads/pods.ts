import type { KubeObject } from '@handover/kube';
import { type Instant, instant, isMap, type Json } from '@handover/material';
import { knownAnnotations, makerIn, textOf } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';
import { ANY_SIGNER, type PodSigner, signersIn } from './pod-signers.ts';
import { reachedPodOf } from './reached-pod.ts';
import { EVERYTHING, type Reference, referencesOf } from './references.ts';

/** All that is kept of a pod. */
export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly version: string;
  readonly createdAt: Instant;
  readonly ended: boolean;
  /** It ends by itself: a pod of a Job, of a workflow, a hook of Helm. */
  readonly completes: boolean;
  readonly ready: boolean;
  readonly running: boolean;
  /** A container of it runs or ran: until then the kubelet may still wait for what it mounts. */
  readonly started: boolean;
  readonly ip: string | undefined;
  /** Its address is its node's. */
  readonly onNode: boolean;
  /** Made by a kubelet from a file: nothing about it can be changed here. */
  readonly mirror: boolean;
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  readonly references: readonly Reference[];
  /** Certificates of ours that it has for itself. */
  readonly signers: readonly PodSigner[];
  /** Annotations that say something to us. */
  readonly annotations: Readonly<Record<string, string>>;
}

const isReady = (status: Json): boolean =>
  Array.isArray(status.conditions) &&
  status.conditions.some(
    (condition: unknown) => isMap(condition) && condition.type === 'Ready' && condition.status === 'True',
  );

const hasStarted = (status: Json): boolean =>
  status.phase !== 'Pending' ||
  (Array.isArray(status.initContainerStatuses) &&
    status.initContainerStatuses.some(
      (one: unknown) => isMap(one) && isMap(one.state) && !isMap(one.state.waiting),
    ));

/** An IPv6 address with a zone. What is longer is none, and is not asked. */
const MOST_ADDRESS = 64;

/** A pod that reads nothing that could be ours is not kept at all. */
export const podOf = (object: KubeObject): Pod | undefined => {
  const { metadata } = object;
  const references = referencesOf(object);
  const signers = signersIn(object);
  if (references.length + signers.length === 0) return undefined;
  const status = isMap(object.status) ? object.status : {};
  const reached = reachedPodOf(object);
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    version: metadata.resourceVersion ?? '',
    createdAt: instant(Date.parse(metadata.creationTimestamp ?? '') || 0),
    completes: isMap(object.spec) && ['Never', 'OnFailure'].includes(String(object.spec.restartPolicy)),
    ended: status.phase === 'Succeeded' || status.phase === 'Failed',
    ready: isReady(status),
    running: status.phase === 'Running',
    started: hasStarted(status),
    ip: textOf(reached?.ips[0], MOST_ADDRESS),
    onNode: reached?.onNode ?? false,
    mirror: metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined,
    owner: makerIn(metadata.ownerReferences),
    references,
    signers,
    annotations: knownAnnotations('pod', metadata.annotations),
  };
};

/** Those that there is no room for count as one that reads everything: see `unknownPod`. */
export const PODS = new Projection('Pod', { keep: podOf, most: 64 * 1_024 });

/** Stands for pods of a namespace that are there and not known: it reads everything there, shows nothing and never gets new. */
export const unknownPod = (namespace: string): Pod => ({
  namespace,
  name: 'pods that the operator has no room for',
  uid: `unknown pods of ${namespace}`,
  version: '',
  createdAt: instant(0),
  ended: false,
  completes: false,
  ready: true,
  running: true,
  started: true,
  ip: undefined,
  onNode: false,
  mirror: false,
  owner: undefined,
  references: EVERYTHING,
  signers: [ANY_SIGNER],
  annotations: {},
});
