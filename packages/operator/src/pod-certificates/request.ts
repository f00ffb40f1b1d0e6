import { authorityOfSigner } from '@handover/core';
import type { AuthorityId } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { type Duration, duration, type Instant, instant, isMap, second } from '@handover/material';
import { beginningOf, cut, MOST_NAME, textOf } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';

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

/** `handover.dev/`, a namespace and a name. */
const MOST_SIGNER = 350;

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

const text = (value: unknown): string => textOf(value) ?? '';
const dateOf = (value: unknown): Instant => instant(Date.parse(typeof value === 'string' ? value : '') || 0);

/** Base64. A request with a key of RSA-8192 has 3 KiB. What is longer is no proof of possession. */
const MOST_PROOF = 8_192;
const bytesOf = (value: unknown): Uint8Array | undefined => {
  const base64 = textOf(value, MOST_PROOF) ?? '';
  return base64 === '' ? undefined : new Uint8Array(Buffer.from(base64, 'base64'));
};

const possessionOf = (spec: Readonly<Record<string, unknown>>): Possession | undefined => {
  const request = bytesOf(spec.stubPKCS10Request);
  if (request !== undefined) return { request };
  const [spki, proof] = [bytesOf(spec.pkixPublicKey), bytesOf(spec.proofOfPossession)];
  return spki === undefined || proof === undefined ? undefined : { spki, proof };
};

/** The leaf, which comes first; the rest of the chain says nothing about the pod. */
const MOST_LEAF = 16_384;
const END = '-----END CERTIFICATE-----';
const leafIn = (chain: string): string => {
  const at = chain.indexOf(END);
  const length = at + END.length;
  return at < 0 || length > MOST_LEAF ? '' : `${beginningOf(chain, length)}\n`;
};

const standOf = (status: unknown): Stand => {
  if (!isMap(status) || !Array.isArray(status.conditions)) return { is: 'open' };
  for (const condition of status.conditions.filter(isMap)) {
    if (condition.type === 'Denied' || condition.type === 'Failed') return { is: 'refused' };
    if (condition.type === 'Issued') {
      const { certificateChain: chain } = status;
      const at = dateOf(condition.lastTransitionTime);
      return { is: 'issued', chain: typeof chain === 'string' ? leafIn(chain) : '', at };
    }
  }
  return { is: 'open' };
};

/** Undefined: it is for a signer of another program. */
export const requestOf = (object: KubeObject): PodRequest | undefined => {
  const { metadata, spec, status } = object;
  if (!isMap(spec)) return undefined;
  const signer = textOf(spec.signerName, MOST_SIGNER) ?? '';
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
    userKeys: isMap(said)
      ? Object.keys(said)
          .slice(0, 10)
          .map((key) => cut(key, MOST_NAME))
      : [],
    stand: standOf(status),
  };
};

/** A request that there is no room for gets no answer; the pod that made it counts with the oldest CA that it may have a leaf of. */
export const POD_REQUESTS = new Projection('PodCertificateRequest', { keep: requestOf, most: 48 * 1_024 });
