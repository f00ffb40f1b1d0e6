import { ISSUER } from '@handover/core';
import type { KubeObject, Secret } from '@handover/kube';
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
const MOST_NAME = 512;
const MOST_MESSAGE = 400;
const MOST_OWNERS = 8;
const CONDITIONS = ['Ready', 'Approved', 'Denied', 'InvalidRequest', 'Issuing'] as const;
const WORDS = 'handover.dev/';

const bounded = (text: string | undefined, most = MOST_NAME): string | undefined =>
  text === undefined || text.length > most ? undefined : text;

/** A copy: the beginning of a text keeps the whole of it in memory. */
const beginningOf = (text: string): string =>
  text.length > MOST_MESSAGE ? Buffer.from(text.slice(0, MOST_MESSAGE)).toString() : text;

const present = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

const pemIn = (secret: Secret, key: string): Uint8Array | undefined => {
  const text = bounded(secret.data?.[key], MOST_BASE64);
  return text === undefined ? undefined : Buffer.from(text, 'base64');
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
  present({ apiVersion, kind });

const projectMetadata = ({ metadata }: KubeObject): KubeObject['metadata'] => {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return present({ name, namespace, uid, resourceVersion, creationTimestamp });
};

const projectRef = (ref: IssuerRef | undefined): IssuerRef =>
  present({ name: bounded(ref?.name), kind: bounded(ref?.kind), group: bounded(ref?.group) });

const projectConditions = (object: CertificateRequest | CertManagerCertificate): readonly CertCondition[] =>
  CONDITIONS.flatMap((type) => {
    const found = conditionIn(object, type);
    if (found === undefined) return [];
    const { status, reason, message, lastTransitionTime } = found;
    const more = present({
      reason: bounded(reason),
      message: message === undefined ? undefined : beginningOf(message),
      lastTransitionTime: bounded(lastTransitionTime),
    });
    return [{ type, status: bounded(status) ?? '', ...more }];
  });

/** Nothing of requests for other issuers. The signer reads a request again: its contents are not kept. */
export const projectRequest = (request: CertificateRequest): CertificateRequest | undefined => {
  const issuerRef = projectRef(request.spec?.issuerRef);
  if (issuerRef.group !== ISSUER.group) return undefined;
  const owners = (request.metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Certificate');
  return {
    ...projectType(request),
    metadata: { ...projectMetadata(request), ownerReferences: owners.slice(0, MOST_OWNERS) },
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
  const words = Object.entries(certificate.metadata.annotations ?? {}).filter(
    ([name, value]) => name.startsWith(WORDS) && value.length <= MOST_NAME,
  );
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
