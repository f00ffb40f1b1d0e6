import { API_VERSION, parseResource, type Resource, type Kind as ResourceName } from '@handover/core';
import { type KubeObject, kindOf, type ResourceKind } from '@handover/kube';
import { HandoverError, type Instant, instant } from '@handover/material';
import { cut, knownAnnotations, labelsOf } from '../cache/bounds.ts';
import { OVER_SHARE } from '../cache/budget.ts';
import { Projection, sizeOf } from '../cache/projection.ts';
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
/** A thousand names. */
const MOST_RESOURCE = 128 * 1_024;
/** What we write of an Authority with a hundred consumers that wait. A larger one is not ours, and is written again. */
const MOST_STATUS = 128 * 1_024;

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
    status: Number.isFinite(sizeOf(status, MOST_STATUS)) ? status : undefined,
  };
  try {
    const { apiVersion = API_VERSION, ...rest } = object;
    const annotations = knownAnnotations('resource', metadata.annotations);
    const said = { ...metadata, annotations, labels: labelsOf(metadata.labels) };
    const resource = parseResource({ ...rest, apiVersion, kind, metadata: said }, where);
    if (Number.isFinite(sizeOf(resource, MOST_RESOURCE))) return { ...base, resource, problem: undefined };
    return { ...base, resource: undefined, problem: `${where} is larger than a resource can be` };
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return { ...base, resource: undefined, problem: cut(error.message, MOST_PROBLEM) };
  }
};

const projectionOf = (kind: ResourceName): Projection<KubeObject, Declared> =>
  new Projection(kind, {
    keep: (object) => declaredOf(kind, object),
    // As one that cannot be read: what was made for it stays, and its status says why nothing new is.
    shell: (object) => {
      const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = object.metadata;
      const known = { name, namespace, uid, resourceVersion, generation, creationTimestamp };
      const bare = declaredOf(kind, { metadata: known as KubeObject['metadata'] });
      return { ...bare, resource: undefined, problem: OVER_SHARE };
    },
    most: MOST_RESOURCE + MOST_STATUS,
    essential: true,
  });

export const RESOURCES = {
  Authority: projectionOf('Authority'),
  Leaf: projectionOf('Leaf'),
  TrustBundle: projectionOf('TrustBundle'),
  TLSProfile: projectionOf('TLSProfile'),
} as const satisfies Readonly<Record<ResourceName, Projection<KubeObject, Declared>>>;

/** The older resource keeps what two ask for. */
export const oldestFirst = (a: Declared, b: Declared): number =>
  a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1);
