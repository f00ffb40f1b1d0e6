import { authorityOfSigner } from '@handover/core';
import type { AuthorityId } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { type Duration, duration, type Instant, instant, isMap, second } from '@handover/material';
import { MOST_NAME } from '../objects/bounds.ts';

/** How the requester shows that it holds the private key. */
export type Possession =
  /** A PKCS#10 request, DER; its names mean nothing. */
  | { readonly request: Uint8Array }
  /** v1beta1 of Kubernetes 1.35: the pod's uid, signed. */
  | { readonly spki: Uint8Array; readonly proof: Uint8Array };

/** Where a request stands. Each but `open` is final: the API server lets none of them change. */
export type Stand =
  | { readonly is: 'open' }
  | { readonly is: 'refused' }
  | { readonly is: 'issued'; readonly chain: string; readonly at: Instant };

/** What is kept of a PodCertificateRequest for one of our signers. */
export interface PodRequest {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly version: string;
  readonly createdAt: Instant;
  readonly signer: string;
  readonly authority: AuthorityId;
  readonly pod: { readonly name: string; readonly uid: string };
  readonly serviceAccount: string;
  readonly node: string;
  readonly longest: Duration;
  /** Undefined: it has none that can be read. */
  readonly possession: Possession | undefined;
  /** Keys of the annotations that the pod's author passes to the signer. */
  readonly userKeys: readonly string[];
  readonly stand: Stand;
}

const text = (value: unknown): string =>
  typeof value === 'string' && value.length <= MOST_NAME ? value : '';
const dateOf = (value: unknown): Instant => instant(Date.parse(typeof value === 'string' ? value : '') || 0);

/** 1 MiB is more than an API object can hold of it. */
const bytesOf = (value: unknown): Uint8Array | undefined =>
  typeof value === 'string' && value !== '' ? new Uint8Array(Buffer.from(value, 'base64')) : undefined;

const possessionOf = (spec: Readonly<Record<string, unknown>>): Possession | undefined => {
  const request = bytesOf(spec.stubPKCS10Request);
  if (request !== undefined) return { request };
  const [spki, proof] = [bytesOf(spec.pkixPublicKey), bytesOf(spec.proofOfPossession)];
  return spki === undefined || proof === undefined ? undefined : { spki, proof };
};

const standOf = (status: unknown): Stand => {
  if (!isMap(status) || !Array.isArray(status.conditions)) return { is: 'open' };
  for (const condition of status.conditions.filter(isMap)) {
    if (condition.type === 'Denied' || condition.type === 'Failed') return { is: 'refused' };
    if (condition.type === 'Issued') {
      const { certificateChain: chain } = status;
      const at = dateOf(condition.lastTransitionTime);
      return { is: 'issued', chain: typeof chain === 'string' ? chain : '', at };
    }
  }
  return { is: 'open' };
};

/** Undefined: it is for a signer of another program. */
export const requestOf = (object: KubeObject): PodRequest | undefined => {
  const { metadata, spec, status } = object;
  if (!isMap(spec)) return undefined;
  const signer = typeof spec.signerName === 'string' ? spec.signerName : '';
  const authority = authorityOfSigner(signer);
  if (authority === undefined) return undefined;
  const { maxExpirationSeconds, unverifiedUserAnnotations: said } = spec;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    version: metadata.resourceVersion ?? '',
    createdAt: dateOf(metadata.creationTimestamp),
    signer,
    authority,
    pod: { name: text(spec.podName), uid: text(spec.podUID) },
    serviceAccount: text(spec.serviceAccountName),
    node: text(spec.nodeName),
    longest: duration((typeof maxExpirationSeconds === 'number' ? maxExpirationSeconds : 86_400) * second),
    possession: possessionOf(spec),
    userKeys: isMap(said) ? Object.keys(said).slice(0, 10) : [],
    stand: standOf(status),
  };
};
