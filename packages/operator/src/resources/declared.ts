import { API_VERSION, parseResource, type Resource, type Kind as ResourceName } from '@handover/core';
import { type KubeObject, kindOf, type ResourceKind } from '@handover/kube';
import { HandoverError, type Instant, instant } from '@handover/material';
import { cut, knownAnnotations, labelsOf } from '../objects/bounds.ts';
import { type Managers, managersIn } from './askers.ts';

/** Our own kinds on an API server. */
export const RESOURCE_KINDS: Readonly<Record<ResourceName, ResourceKind>> = {
  Authority: kindOf(API_VERSION, 'authorities', 'Authority'),
  Leaf: kindOf(API_VERSION, 'leaves', 'Leaf'),
  TrustBundle: kindOf(API_VERSION, 'trustbundles', 'TrustBundle', false),
  TLSProfile: kindOf(API_VERSION, 'tlsprofiles', 'TLSProfile'),
};

/** A resource as it was written, parsed as far as possible. */
export interface Declared {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly version: string;
  readonly generation: number;
  readonly createdAt: Instant;
  readonly managers: Managers;
  readonly resource: Resource | undefined;
  /** Why it cannot be read. */
  readonly problem: string | undefined;
  readonly status: unknown;
}

const MOST_PROBLEM = 1_000;

export const declaredOf = (kind: string, object: KubeObject): Declared => {
  const { metadata, status } = object;
  const where = `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
  const base = {
    kind,
    namespace: metadata.namespace,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    version: metadata.resourceVersion ?? '',
    generation: metadata.generation ?? 0,
    createdAt: instant(Date.parse(metadata.creationTimestamp ?? '') || 0),
    managers: managersIn(metadata.managedFields),
    status,
  };
  try {
    const { apiVersion = API_VERSION, ...rest } = object;
    const annotations = knownAnnotations('resource', metadata.annotations);
    const said = { ...metadata, annotations, labels: labelsOf(metadata.labels) };
    const resource = parseResource({ ...rest, apiVersion, kind, metadata: said }, where);
    return { ...base, resource, problem: undefined };
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return { ...base, resource: undefined, problem: cut(error.message, MOST_PROBLEM) };
  }
};

/** The older resource keeps what two ask for. */
export const oldestFirst = (a: Declared, b: Declared): number =>
  a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1);
