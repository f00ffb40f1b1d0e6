import { ISSUER } from '@handover/core';
import type { KubeObject, Secret } from '@handover/kube';
import { beginningOf, textOf } from '../cache/bounds.ts';
import { Projection } from '../cache/projection.ts';
import {
  type CertCondition,
  type CertificateRequest,
  type CertManagerCertificate,
  conditionIn,
  type IssuerRef,
} from './kinds.ts';

/** What is kept of a Secret that cert-manager writes: never its key. */
export interface ExternallyHeldSecret {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly createdAt: number;
  /** Undefined also when it is too large to be a chain. */
  readonly crt: Uint8Array | undefined;
  readonly ca: Uint8Array | undefined;
}

/** A chain and a bundle have a few kilobytes. Any tenant can label Secrets, and fill them with what each look would read. */
const MOST_PEM = 64 << 10;
const MOST_BASE64 = Math.ceil(MOST_PEM / 3) * 4;
/** A chain has a handful, a bundle of other programs a few dozen. Certificates can be so short that reading them takes twenty times their text. */
const MOST_CERTIFICATES = 32;
const MOST_NAME = 512;
const MOST_MESSAGE = 400;
const MOST_OWNERS = 8;
const MOST_WORDS = 16;
const CONDITIONS = ['Ready', 'Approved', 'Denied', 'InvalidRequest', 'Issuing'] as const;
const WORDS = 'handover.dev/';

const bounded = (text: string | undefined, most = MOST_NAME): string | undefined => textOf(text, most);

const present = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

const END = '-----END ';
/** Whether there are no more certificates in it than can be read. */
const isShort = (pem: Uint8Array): boolean => {
  const bytes = Buffer.from(pem.buffer, pem.byteOffset, pem.byteLength);
  let count = 0;
  for (let at = bytes.indexOf(END); at >= 0; at = bytes.indexOf(END, at + END.length)) count++;
  return count <= MOST_CERTIFICATES;
};

const pemIn = (secret: Secret, key: string): Uint8Array | undefined => {
  const text = bounded(secret.data?.[key], MOST_BASE64);
  if (text === undefined) return undefined;
  // A copy: a small Buffer is a view of a pool, and keeps all of the pool in memory.
  const pem = new Uint8Array(Buffer.from(text, 'base64'));
  return isShort(pem) ? pem : undefined;
};

export const projectSecret = (secret: Secret): ExternallyHeldSecret => ({
  namespace: secret.metadata.namespace ?? '',
  name: secret.metadata.name ?? '',
  version: secret.metadata.resourceVersion ?? '',
  createdAt: Date.parse(secret.metadata.creationTimestamp ?? '') || 0,
  crt: pemIn(secret, 'tls.crt'),
  ca: pemIn(secret, 'ca.crt'),
});

const projectType = ({ apiVersion, kind }: KubeObject): Pick<KubeObject, 'apiVersion' | 'kind'> =>
  present({ apiVersion: bounded(apiVersion), kind: bounded(kind) });

const projectMetadata = ({ metadata }: KubeObject): KubeObject['metadata'] => {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return present({ name, namespace, uid, resourceVersion, creationTimestamp });
};

const isName = (text: unknown): boolean => textOf(text) !== undefined;

const projectRef = (ref: IssuerRef | undefined): IssuerRef =>
  present({ name: bounded(ref?.name), kind: bounded(ref?.kind), group: bounded(ref?.group) });

const projectConditions = (object: CertificateRequest | CertManagerCertificate): readonly CertCondition[] =>
  CONDITIONS.flatMap((type) => {
    const found = conditionIn(object, type);
    if (found === undefined) return [];
    const { status, reason, message, lastTransitionTime } = found;
    const more = present({
      reason: bounded(reason),
      message: typeof message === 'string' ? beginningOf(message, MOST_MESSAGE) : undefined,
      lastTransitionTime: bounded(lastTransitionTime),
    });
    return [{ type, status: bounded(status) ?? '', ...more }];
  });

/** Nothing of requests for other issuers. The signer reads a request again: its contents are not kept. */
export const projectRequest = (request: CertificateRequest): CertificateRequest | undefined => {
  const issuerRef = projectRef(request.spec?.issuerRef);
  if (issuerRef.group !== ISSUER.group) return undefined;
  // Without its owner a request counts as one that no Secret shows: its leaf counts until it ends.
  const owners = (request.metadata.ownerReferences ?? [])
    .filter(
      ({ kind, apiVersion, name, uid }) => kind === 'Certificate' && [apiVersion, name, uid].every(isName),
    )
    .slice(0, MOST_OWNERS)
    .map(({ apiVersion, kind, name, uid }) => ({ apiVersion, kind, name, uid }));
  return {
    ...projectType(request),
    metadata: { ...projectMetadata(request), ownerReferences: owners },
    spec: { issuerRef },
    status: {
      conditions: projectConditions(request),
      ...present({ certificate: bounded(request.status?.certificate, MOST_BASE64) }),
    },
  };
};

/** Those of other issuers too: in the namespace of an Authority they may hold a leaf of a CA that it adopted. */
export const projectCertificate = (certificate: CertManagerCertificate): CertManagerCertificate => {
  const { spec, status } = certificate;
  const words = Object.entries(certificate.metadata.annotations ?? {})
    .filter(([name, value]) => name.startsWith(WORDS) && name.length + value.length <= MOST_NAME)
    .slice(0, MOST_WORDS);
  return {
    ...projectType(certificate),
    metadata: { ...projectMetadata(certificate), annotations: Object.fromEntries(words) },
    spec: { ...present({ secretName: bounded(spec?.secretName) }), issuerRef: projectRef(spec?.issuerRef) },
    status: {
      conditions: projectConditions(certificate),
      ...present({ lastFailureTime: bounded(status?.lastFailureTime) }),
    },
  };
};

/** Null: an object that says nothing to us, of which only the version is known. */
const orNull =
  <O, T>(keep: (object: O) => T | undefined) =>
  (object: O): T | null =>
    keep(object) ?? null;

/** Those of a namespace without room are unknown, and so is what lies there: see `CertManagerView.unknown`. */
export const REQUESTS = new Projection<CertificateRequest, CertificateRequest | null>('CertificateRequest', {
  keep: orNull(projectRequest),
  most: 128 * 1_024,
});
export const CERTIFICATES = new Projection<CertManagerCertificate, CertManagerCertificate | null>(
  'Certificate',
  {
    keep: orNull(projectCertificate),
  },
);
export const LEAF_SECRETS = new Projection<Secret, ExternallyHeldSecret | null>('Secret of cert-manager', {
  keep: orNull(projectSecret),
  most: 144 * 1_024,
});
