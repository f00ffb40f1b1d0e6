import { CERT_MANAGER, ISSUER } from '@handover/core';
import { type AuthorityId, authorityRef } from '@handover/engine';
import { type KubeObject, kindOf, type ResourceKind } from '@handover/kube';

/** For people. */
export const PROGRAM = 'cert-manager';

export interface IssuerRef {
  readonly name?: string;
  readonly kind?: string;
  readonly group?: string;
}

export interface CertCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

export interface CertificateRequest extends KubeObject {
  readonly spec?: {
    readonly request?: string;
    readonly issuerRef?: IssuerRef;
    readonly duration?: string;
    readonly isCA?: boolean;
    readonly usages?: readonly string[];
  };
  readonly status?: {
    readonly conditions?: readonly CertCondition[];
    readonly certificate?: string;
    readonly ca?: string;
    readonly failureTime?: string;
  };
}

export interface CertManagerCertificate extends KubeObject {
  readonly spec?: { readonly secretName?: string; readonly issuerRef?: IssuerRef };
  readonly status?: {
    readonly conditions?: readonly CertCondition[];
    readonly lastFailureTime?: string;
  };
}

export const certificateRequests: ResourceKind<CertificateRequest> = kindOf(
  CERT_MANAGER.apiVersion,
  'certificaterequests',
  'CertificateRequest',
);
export const certificates: ResourceKind<CertManagerCertificate> = kindOf(
  CERT_MANAGER.apiVersion,
  'certificates',
  'Certificate',
);

/** Whether an API server takes it as a name: no Secret and no Certificate has any other. */
export const isObjectName = (name: string): boolean => /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name);

/** The Authority that an `issuerRef` names: `name`, or `namespace/name` as in a Leaf. Undefined: another issuer. */
export const authorityOfIssuerRef = (
  ref: IssuerRef | undefined,
  namespace: string,
): AuthorityId | undefined =>
  ref?.group === ISSUER.group && ref.kind === ISSUER.kind && ref.name !== undefined && ref.name !== ''
    ? authorityRef(ref.name, namespace)
    : undefined;

export const conditionIn = (
  object: { readonly status?: { readonly conditions?: readonly CertCondition[] } },
  type: string,
): CertCondition | undefined => object.status?.conditions?.find((condition) => condition.type === type);

/** All conditions, one of them replaced; its time is when its status last changed. */
export const withCondition = (
  before: readonly CertCondition[],
  condition: CertCondition & { readonly lastTransitionTime: string },
): readonly CertCondition[] => {
  const last = before.find(({ type }) => type === condition.type);
  const kept =
    last?.status === condition.status && last.lastTransitionTime !== undefined
      ? { ...condition, lastTransitionTime: last.lastTransitionTime }
      : condition;
  return [...before.filter(({ type }) => type !== condition.type), kept];
};
