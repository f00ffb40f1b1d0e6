import type { Authority, Leaf, Resource, TlsProfile, TrustBundle } from '@handover/core';
import { type HandoverError, TLS_PROFILE_FILES } from '@handover/material';
import { EngineError } from '../error.ts';
import type { AuthorityId, ObjectId } from './home.ts';
import { outputsOfTarget } from './outputs.ts';

/** A resource that is declared and that Handover can do nothing with, and why. */
export interface Unusable {
  readonly kind: string;
  /** `namespace/name`; of a TrustBundle its name. */
  readonly id: string;
  readonly code: string;
  readonly message: string;
}

/** The resources of one home, by kind. */
export interface Catalogue {
  readonly authorities: ReadonlyMap<AuthorityId, Authority>;
  readonly leaves: readonly Leaf[];
  readonly trustBundles: readonly TrustBundle[];
  readonly tlsProfiles: readonly TlsProfile[];
  /** Namespaces with their labels. */
  readonly namespaces: ReadonlyMap<string, Labels>;
  /** Where a target lies that is neither a Secret nor a ConfigMap; undefined: this home has no such object. */
  readonly place?: ((target: Target) => ObjectId | undefined) | undefined;
  /** Objects that a TrustBundle wants and another resource had first, with the reason, by the bundle's name. */
  readonly contested?: ReadonlyMap<string, ReadonlyMap<ObjectId, string>> | undefined;
  /** Resources that are left out. Absent: a home where one such resource is an error of the whole. */
  readonly leftOut?: readonly Unusable[] | undefined;
  /** Documents that are wrong, and whose resources are here as they were last declared. */
  readonly frozen?: readonly Unusable[] | undefined;
  /** Why some resources are not known, as a wait: no step may rest on the consumers that are. */
  readonly unknown?: string | undefined;
}

/** The Authority of this name that is declared and left out; undefined: there is none. */
export const leftOutAuthority = ({ leftOut = [] }: Catalogue, id: AuthorityId): Unusable | undefined =>
  leftOut.find((one) => one.kind === 'Authority' && one.id === id);

export type Labels = Readonly<Record<string, string>>;
export type Target = TrustBundle['spec']['targets'][number];

export const idOf = (resource: Authority | Leaf | TlsProfile): string =>
  `${resource.metadata.namespace}/${resource.metadata.name}`;

/** `namespace/name` of the authority a Leaf or a TrustBundle names. */
export const authorityRef = (reference: string, namespace: string): AuthorityId =>
  reference.includes('/') ? reference : `${namespace}/${reference}`;

export const secretOf = (leaf: Leaf): ObjectId =>
  `${leaf.metadata.namespace}/secrets/${leaf.spec.secretName}`;
export const ownBundleOf = (authority: Authority): ObjectId =>
  `${authority.metadata.namespace}/configmaps/${authority.spec.bundle.configMapName}/ca.crt`;
/**
 * Whether an object lies outside the authority's namespace, where others write. What has no namespace is the administrators', and in a
 * home with one owner nothing is another's.
 */
export const liesElsewhere = (
  object: ObjectId,
  { authority, oneOwner }: { readonly authority: Authority; readonly oneOwner: boolean },
): boolean => {
  const [namespace] = object.split('/', 1);
  return !oneOwner && namespace !== '-' && namespace !== authority.metadata.namespace;
};
export const profileObjectOf = (profile: TlsProfile): ObjectId =>
  `${profile.metadata.namespace}/configmaps/${profile.spec.configMapName}/profile.json`;

/** Of labels, as Kubernetes has them. */
export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
        readonly values: readonly string[];
      }[]
    | undefined;
}

/** The one label that every namespace has by itself. */
const NAME = 'kubernetes.io/metadata.name';
export const ownLabels = (namespace: string): Labels => ({ [NAME]: namespace });

/** Marks the labels of a namespace that this account may not read: all but its name are unknown. */
const NAME_ONLY = Symbol('the name alone is known');
export const nameAlone = (namespace: string): Labels => ({ ...ownLabels(namespace), [NAME_ONLY]: true });

const keysOf = ({ matchLabels = {}, matchExpressions = [] }: Selector): readonly string[] => [
  ...Object.keys(matchLabels),
  ...matchExpressions.map(({ key }) => key),
];

/** Kubernetes' label selectors. */
export const selects = (selector: Selector, labels: Labels): boolean => {
  // "Not restricted" is true of nothing that cannot be seen.
  if (Object.hasOwn(labels, NAME_ONLY) && keysOf(selector).some((key) => key !== NAME)) return false;
  // A key comes from a resource: it may be the name of a property that every object has.
  const labelOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labelOf(key) !== value) return false;
  }
  return (selector.matchExpressions ?? []).every(({ key, operator, values }) => {
    const value = labelOf(key);
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

/** Objects a TrustBundle is written to, as far as this home has such objects, each with the target that asks for it. */
export const placedTargets = (
  bundle: TrustBundle,
  { namespaces, place, contested }: Pick<Catalogue, 'namespaces' | 'place' | 'contested'>,
): readonly (readonly [ObjectId, Target])[] => {
  const taken = contested?.get(bundle.metadata.name);
  const wanted = bundle.spec.targets.flatMap((target) => {
    const data = target.configMap ?? target.secret;
    if (data === undefined) {
      const id = place?.(target);
      return id === undefined ? [] : [[id, target] as const];
    }
    const folder = target.configMap === undefined ? 'secrets' : 'configmaps';
    return [...namespaces]
      .filter(([, labels]) => selects(data.namespaceSelector, labels))
      .map(([namespace]) => [`${namespace}/${folder}/${data.name}/${data.key}`, target] as const);
  });
  return taken === undefined ? wanted : wanted.filter(([object]) => !taken.has(object));
};

export const targetsOf = (
  bundle: TrustBundle,
  around: Pick<Catalogue, 'namespaces' | 'place' | 'contested'>,
): readonly ObjectId[] => placedTargets(bundle, around).map(([object]) => object);

/** What a home knows about the surroundings of its resources. */
export interface Surroundings {
  /** Namespaces with their labels. Without them: those that the resources name. */
  readonly namespaces?: ReadonlyMap<string, Labels> | undefined;
  readonly place?: Catalogue['place'];
  /** Told of a resource that is left out because another, earlier one writes the same object. Without it that is an error. */
  readonly onConflict?: ((resource: Resource, problem: HandoverError) => void) | undefined;
}

/** Sorts resources by kind, and refuses two that would write the same object. */
export function catalogueOf(resources: readonly Resource[], around: Surroundings = {}): Catalogue {
  const { place, onConflict } = around;
  const authorities = new Map<AuthorityId, Authority>();
  const leaves: Leaf[] = [];
  const trustBundles: TrustBundle[] = [];
  const tlsProfiles: TlsProfile[] = [];
  const namespaces = around.namespaces ?? namespacesOf(resources);
  const claims = new Map<string, string>();
  const contested = new Map<string, ReadonlyMap<ObjectId, string>>();
  for (const resource of resources) {
    const objects = objectsOf(resource, { namespaces, place });
    const keys = keysBeside(resource, { namespaces, place });
    const who = describe(resource);
    const taken = new Map<ObjectId, HandoverError>();
    for (const object of objects) {
      for (const claimed of [object, ...(keys.get(object) ?? [])]) {
        const problem = takenBefore(claims, claimed, who);
        if (problem !== undefined) taken.set(object, problem);
      }
    }
    const [problem] = taken.values();
    if (problem !== undefined) {
      if (onConflict === undefined) throw problem;
      // A tenant's resource in one namespace must not keep a bundle from all the others.
      if (resource.kind === 'TrustBundle')
        contested.set(resource.metadata.name, new Map([...taken].map(([id, { message }]) => [id, message])));
      else {
        onConflict(resource, problem);
        continue;
      }
    }
    for (const object of objects)
      if (!taken.has(object))
        for (const claimed of [object, ...(keys.get(object) ?? [])]) claim(claims, claimed, who);
    if (resource.kind === 'Authority') authorities.set(idOf(resource), resource);
    else if (resource.kind === 'Leaf') leaves.push(resource);
    else if (resource.kind === 'TrustBundle') trustBundles.push(resource);
    else tlsProfiles.push(resource);
  }
  return { authorities, leaves, trustBundles, tlsProfiles, namespaces, place, contested };
}

const describe = (resource: Resource): string =>
  `${resource.kind} ${resource.kind === 'TrustBundle' ? resource.metadata.name : idOf(resource)}`;

const namespacesOf = (resources: readonly Resource[]): ReadonlyMap<string, Labels> => {
  const names = resources.flatMap((resource) =>
    resource.kind === 'TrustBundle' ? [] : [resource.metadata.namespace],
  );
  return new Map([...new Set(names)].sort().map((name) => [name, ownLabels(name)]));
};

/** Objects that a resource has written for it. */
const objectsOf = (
  resource: Resource,
  around: Pick<Catalogue, 'namespaces' | 'place'>,
): readonly ObjectId[] => {
  switch (resource.kind) {
    case 'Leaf':
      return [secretOf(resource)];
    case 'Authority':
      return [ownBundleOf(resource)];
    case 'TLSProfile':
      return TLS_PROFILE_FILES.map((file) => `${folderOf(profileObjectOf(resource))}/${file}`);
    case 'TrustBundle':
      return targetsOf(resource, around);
    default:
      return resource satisfies never;
  }
};

/** Keys of the same object that a bundle's outputs take. */
const keysBeside = (
  resource: Resource,
  around: Pick<Catalogue, 'namespaces' | 'place'>,
): ReadonlyMap<ObjectId, readonly string[]> =>
  resource.kind !== 'TrustBundle'
    ? new Map()
    : new Map(
        placedTargets(resource, around).map(([object, target]) => [
          object,
          outputsOfTarget(target).map(({ name }) => `${folderOf(object)}/${name}`),
        ]),
      );

const folderOf = (object: ObjectId): string => object.split('/').slice(0, 3).join('/');

/** A Leaf owns its Secret whole, so that no key of it belongs to another resource; the same for all webhooks and some of them. */
const takenBefore = (
  claims: ReadonlyMap<string, string>,
  object: ObjectId,
  who: string,
): HandoverError | undefined => {
  const folder = folderOf(object);
  const taken = claims.get(object) ?? (object === folder ? claims.get(`${folder}/`) : claims.get(folder));
  if (taken === undefined) return undefined;
  return new EngineError(
    'RESOURCE_CONFLICT',
    `${who} and ${taken} would both write ${object}; give one of them another name`,
    { path: object },
  );
};

const claim = (claims: Map<string, string>, object: ObjectId, who: string): void => {
  const folder = folderOf(object);
  claims.set(object, who);
  if (object !== folder) claims.set(`${folder}/`, who);
};
