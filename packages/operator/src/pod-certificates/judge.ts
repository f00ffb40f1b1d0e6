import type { KeyObject } from 'node:crypto';
import {
  type Authority,
  type KeyAlgorithm,
  keyAlgorithmOf,
  keyOfSigningRequest,
  keyWithProof,
} from '@handover/core';
import { type AuthorityRecord, type Catalogue, idOf, refusalOf } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { type Duration, duration, HandoverError, hour, type Instant } from '@handover/material';
import { contradiction, type Names, namesOf, type ServiceSeen } from './identity.ts';
import type { PodRequest, Possession } from './request.ts';

type Leaf = Parameters<typeof refusalOf>[1];
type Usage = 'server' | 'client';

/** What a certificate for a pod will say. */
export interface Granted {
  readonly is: 'granted';
  readonly key: KeyObject;
  /** The certificate as a Leaf would ask for it. */
  readonly leaf: Leaf;
  /** Names that the pod has a claim to and the Authority does not allow. */
  readonly leftOut: readonly string[];
}

/** A refusal is final for the pod: the kubelet does not ask again for it. */
export interface Refused {
  readonly is: 'Denied' | 'Failed';
  readonly reason: string;
  readonly message: string;
}

export type Verdict =
  | Granted
  | Refused
  /** It may be granted later: the request stays as it is. */
  | { readonly is: 'waits'; readonly why: string }
  /** Its pod is gone. */
  | { readonly is: 'moot' };

export interface Circumstances {
  readonly authority: Authority | undefined;
  readonly record: AuthorityRecord | undefined;
  /** The pod as it is now; undefined: it is gone. */
  readonly pod: KubeObject | undefined;
  readonly services: readonly ServiceSeen[];
  readonly namespaces: Catalogue['namespaces'];
  readonly now: Instant;
}

/** Kubernetes takes no shorter certificate. */
const SHORTEST: Duration = duration(hour);
/** Two for each Service, and two more for a pod of a StatefulSet. */
const MOST_NAMES = 100;

const denied = (reason: string, message: string): Refused => ({ is: 'Denied', reason, message });
const failed = (reason: string, message: string): Refused => ({ is: 'Failed', reason, message });
const waits = (why: string): Verdict => ({ is: 'waits', why });

const UNSUPPORTED_KEY = denied(
  'UnsupportedKeyType',
  'too many TLS peers refuse certificates with such a key; set keyType of the podCertificate volume to ECDSAP256, ECDSAP384, RSA3072 or RSA4096',
);

const keyOf = (possession: Possession, podUid: string): KeyObject | Refused => {
  try {
    return 'request' in possession
      ? keyOfSigningRequest(possession.request)
      : keyWithProof(possession.spki, possession.proof, podUid);
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    if (error.code === 'SIGNING_REQUEST_KEY_TYPE') return UNSUPPORTED_KEY;
    const reason = error.code === 'SIGNING_REQUEST_UNPROVEN' ? 'ProofOfPossession' : 'MalformedRequest';
    return failed(reason, `${error.code}: ${error.message}`);
  }
};

/** The certificate as a Leaf would ask for it, so that the rules of `issueTo` have one place. */
const asLeaf = (
  request: PodRequest,
  authority: Authority,
  asked: { readonly names: Names; readonly key: KeyAlgorithm; readonly usages: readonly Usage[] },
  lifetime: Duration,
): Leaf => ({
  apiVersion: authority.apiVersion,
  kind: 'Leaf',
  metadata: { namespace: request.namespace, name: request.pod.name, labels: {}, annotations: {} },
  spec: {
    authority: idOf(authority),
    secretName: request.pod.name,
    key: asked.key,
    reuseKey: false,
    subject: { organizations: [] },
    dnsNames: [...asked.names.dnsNames],
    uris: [...asked.names.uris],
    ipAddresses: [],
    usages: [...asked.usages],
    lifetime,
    renew: { at: 0.66 as Leaf['spec']['renew']['at'] },
    outputs: [],
  },
});

/** A key that the kubelet made costs the operator nothing: only a list of the Authority's owner narrows its algorithm. */
const ruledKey = ({ spec }: Authority, algorithm: KeyAlgorithm): KeyAlgorithm =>
  spec.issueTo.keys === undefined ? 'ECDSA-P256' : algorithm;

const namesAllowed = (
  request: PodRequest,
  authority: Authority,
  { namespaces, record, names: claimed }: Circumstances & { readonly names: Names },
  asked: { readonly key: KeyAlgorithm; readonly usages: readonly Usage[] },
  lifetime: Duration,
): { readonly names: Names; readonly refusals: ReadonlyMap<string, string> } => {
  const refusals = new Map<string, string>();
  const allowed = (name: string, names: Names): boolean => {
    const why = refusalOf(
      authority,
      asLeaf(request, authority, { ...asked, names }, lifetime),
      namespaces,
      record,
    );
    if (why !== undefined) refusals.set(name, why);
    return why === undefined;
  };
  const { dnsNames, uris } = claimed;
  return {
    names: {
      dnsNames: dnsNames.filter((name) => allowed(name, { dnsNames: [name], uris: [] })),
      uris: uris.filter((name) => allowed(name, { dnsNames: [], uris: [name] })),
    },
    refusals,
  };
};

/** What becomes of a request. No I/O and no clock. */
export const judge = (request: PodRequest, circumstances: Circumstances): Verdict => {
  const { authority, record, pod, services, now } = circumstances;
  if (authority === undefined) return waits(`there is no Authority ${request.authority}`);
  const { podCertificates, issueTo } = authority.spec;
  if (podCertificates === undefined)
    return waits(
      `Authority ${request.authority} signs no pod certificates; set its spec.podCertificates, {} is enough`,
    );
  const current = record?.state.generations.find(({ role }) => role === 'current');
  if (current?.hasKey !== true) return waits(`Authority ${request.authority} has no CA that can sign yet`);
  if (current.anchors[0].notAfter < now + SHORTEST)
    return waits(
      `the CA of Authority ${request.authority} ends within the hour that Kubernetes demands of a certificate; its successor will sign`,
    );
  if (pod === undefined || pod.metadata.uid !== request.pod.uid) return { is: 'moot' };
  const wrong = contradiction(request, pod);
  if (wrong !== undefined)
    return failed('PodMismatch', `${wrong}; delete the pod, so that the kubelet asks again`);
  if (request.possession === undefined)
    return failed(
      'MalformedRequest',
      'the request holds neither a PKCS#10 request nor a key with a proof; upgrade the kubelet',
    );
  const [stray] = request.userKeys;
  if (stray !== undefined)
    return denied(
      'InvalidUnverifiedUserAnnotations',
      `Handover knows no userAnnotations, and the podCertificate volume has ${JSON.stringify(stray)}; remove them`,
    );
  const key = keyOf(request.possession, request.pod.uid);
  if ('is' in key) return key;
  const algorithm = keyAlgorithmOf(key);
  if (algorithm === undefined || algorithm === 'RSA-2048') return UNSUPPORTED_KEY;
  if (issueTo.keys !== undefined && !issueTo.keys.includes(algorithm))
    return denied(
      'UnsupportedKeyType',
      `spec.issueTo.keys of the Authority allows ${issueTo.keys.join(', ') || 'none'}, not ${algorithm}; change keyType of the podCertificate volume`,
    );
  const lifetime = duration(Math.min(request.longest, issueTo.maxLifetime ?? request.longest));
  if (lifetime < SHORTEST)
    return denied(
      'Policy',
      'spec.issueTo.maxLifetime of the Authority is shorter than the hour that Kubernetes demands; ask its owner to raise it',
    );
  const usages = (['server', 'client'] as const).filter((one) => issueTo.usages?.includes(one) ?? true);
  if (usages.length === 0)
    return denied('Policy', 'spec.issueTo.usages of the Authority is empty; ask its owner to fill it');
  const claimed = namesOf(pod, services, podCertificates.trustDomain);
  if (claimed.dnsNames.length > MOST_NAMES)
    return denied(
      'Policy',
      `${claimed.dnsNames.length / 2} Services select the pod, and a certificate names ${MOST_NAMES / 2} at most; remove some`,
    );
  const asked = { key: ruledKey(authority, algorithm), usages };
  const { names, refusals } = namesAllowed(
    request,
    authority,
    { ...circumstances, names: claimed },
    asked,
    lifetime,
  );
  if (names.dnsNames.length + names.uris.length > 0)
    return {
      is: 'granted',
      key,
      leaf: asLeaf(request, authority, { ...asked, names }, lifetime),
      leftOut: [...refusals.keys()],
    };
  const [first = ''] = refusals.values();
  // With a Service of its own the pod may have a name that is allowed. A namespace that is not selected never has.
  const isNameless = claimed.dnsNames.length === 0 && first.startsWith('spec.uris: ');
  return isNameless
    ? waits(`no Service selects pod ${request.pod.name}, and its SPIFFE id is not allowed: ${first}`)
    : denied('Policy', first);
};
