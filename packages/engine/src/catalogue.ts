import type { Authority, Leaf, Resource, TlsProfile, TrustBundle } from '@handover/core';
import { HandoverError } from '@handover/material';
import type { AuthorityId, ObjectId } from './ports.ts';

/** The resources of one home, by kind. */
export interface Catalogue {
  readonly authorities: ReadonlyMap<AuthorityId, Authority>;
  readonly leaves: readonly Leaf[];
  readonly trustBundles: readonly TrustBundle[];
  readonly tlsProfiles: readonly TlsProfile[];
  readonly namespaces: readonly string[];
}

export const idOf = (resource: Authority | Leaf | TlsProfile): string =>
  `${resource.metadata.namespace}/${resource.metadata.name}`;

/** `namespace/name` of the authority a Leaf or a TrustBundle names. */
export const authorityRef = (reference: string, namespace: string): AuthorityId =>
  reference.includes('/') ? reference : `${namespace}/${reference}`;

export const secretOf = (leaf: Leaf): ObjectId =>
  `${leaf.metadata.namespace}/secrets/${leaf.spec.secretName}`;
export const ownBundleOf = (authority: Authority): ObjectId =>
  `${authority.metadata.namespace}/configmaps/${authority.spec.bundle.configMapName}/ca.crt`;
export const profileObjectOf = (profile: TlsProfile): ObjectId =>
  `${profile.metadata.namespace}/configmaps/${profile.spec.configMapName}/profile.json`;

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
        readonly values: readonly string[];
      }[]
    | undefined;
}

/** Kubernetes' label selectors; without an API server a namespace has the one label that each has by itself. */
export const selects = (selector: Selector, namespace: string): boolean => {
  const labels: Readonly<Record<string, string>> = { 'kubernetes.io/metadata.name': namespace };
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labels[key] !== value) return false;
  }
  return (selector.matchExpressions ?? []).every(({ key, operator, values }) => {
    const value = labels[key];
    switch (operator) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
      default:
        return operator satisfies never;
    }
  });
};

/** Objects a TrustBundle is written to, as far as a home without an API server has such objects. */
export const targetsOf = (bundle: TrustBundle, namespaces: readonly string[]): readonly ObjectId[] =>
  bundle.spec.targets.flatMap((target) => {
    const data = target.configMap ?? target.secret;
    if (data === undefined) return [];
    const folder = target.configMap === undefined ? 'secrets' : 'configmaps';
    return namespaces
      .filter((namespace) => selects(data.namespaceSelector, namespace))
      .map((namespace) => `${namespace}/${folder}/${data.name}/${data.key}`);
  });

/** Sorts resources by kind, and refuses two that would write the same object. */
export function catalogueOf(resources: readonly Resource[]): Catalogue {
  const authorities = new Map<AuthorityId, Authority>();
  const leaves: Leaf[] = [];
  const trustBundles: TrustBundle[] = [];
  const tlsProfiles: TlsProfile[] = [];
  for (const resource of resources) {
    if (resource.kind === 'Authority') authorities.set(idOf(resource), resource);
    else if (resource.kind === 'Leaf') leaves.push(resource);
    else if (resource.kind === 'TrustBundle') trustBundles.push(resource);
    else tlsProfiles.push(resource);
  }
  const namespaces = [
    ...new Set(
      [...authorities.values(), ...leaves, ...tlsProfiles].map(({ metadata }) => metadata.namespace),
    ),
  ].sort();

  const claims = new Map<string, string>();
  const claim = (object: string, who: string): void => {
    // A Leaf owns its Secret whole, so that a key of it cannot be anybody else's.
    const folder = object.split('/').slice(0, 3).join('/');
    const taken = claims.get(object) ?? (object === folder ? claims.get(`${folder}/`) : claims.get(folder));
    if (taken !== undefined) {
      throw new HandoverError(
        'RESOURCE_CONFLICT',
        `${who} and ${taken} would both write ${object}; give one of them another name`,
        { path: object },
      );
    }
    claims.set(object, who);
    if (object !== folder) claims.set(`${folder}/`, who);
  };
  for (const leaf of leaves) claim(secretOf(leaf), `Leaf ${idOf(leaf)}`);
  for (const authority of authorities.values()) claim(ownBundleOf(authority), `Authority ${idOf(authority)}`);
  for (const profile of tlsProfiles) claim(profileObjectOf(profile), `TLSProfile ${idOf(profile)}`);
  for (const bundle of trustBundles) {
    for (const object of targetsOf(bundle, namespaces)) claim(object, `TrustBundle ${bundle.metadata.name}`);
  }
  return { authorities, leaves, trustBundles, tlsProfiles, namespaces };
}
