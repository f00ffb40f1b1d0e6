import {
  INJECTABLE,
  INJECTABLE_PLURALS,
  type InjectableKind,
  type InjectablePlural,
  type Resource,
} from '@handover/core';
import { type ObjectId, ownBundleOf, profileObjectOf, secretOf } from '@handover/engine';

/** Kinds of API objects that can hold something of ours. */
export type Plural = 'secrets' | 'configmaps' | 'clustertrustbundles' | InjectablePlural;
export const PLURALS: readonly Plural[] = [
  'secrets',
  'configmaps',
  'clustertrustbundles',
  ...INJECTABLE_PLURALS,
];

/**
 * Where an object of the engine lies on an API server: `namespace/plural/name`, with `-` for the namespace of what has none, and
 * behind it the part of it that is meant: a key of a ConfigMap, the names of webhooks. No part: the whole Secret, all webhooks.
 */
export interface Place {
  readonly plural: Plural;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly part: string;
}

export const placeOf = (id: ObjectId): Place => {
  const [namespace = '', plural = '', name = '', part = ''] = id.split('/');
  const known = PLURALS.find((candidate) => candidate === plural);
  if (known === undefined) throw new TypeError(`no place for ${id}`);
  return { plural: known, namespace: namespace === '-' ? undefined : namespace, name, part };
};

export const idOfPlace = ({ plural, namespace = '-', name, part }: Place): ObjectId =>
  `${namespace}/${plural}/${name}${part === '' ? '' : `/${part}`}`;

/** An informer's key. */
export const keyOf = ({ namespace, name }: Pick<Place, 'namespace' | 'name'>): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

/** An object's key among those of every kind. */
export const placeKey = (place: Pick<Place, 'plural' | 'namespace' | 'name'>): string =>
  `${place.plural} ${keyOf(place)}`;

/** As the API asks for it. */
export const whichOf = ({ namespace, name }: Pick<Place, 'namespace' | 'name'>) => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

/** A field that the API server itself reads. */
export const isField = ({ plural }: Place): boolean =>
  plural !== 'secrets' && plural !== 'configmaps' && plural !== 'clustertrustbundles';

export const fieldPlace = (kind: InjectableKind, name: string, webhooks?: readonly string[]): Place => ({
  plural: INJECTABLE[kind].plural,
  namespace: undefined,
  name,
  part: webhooks === undefined ? '' : [...webhooks].sort().join(','),
});

/** API objects that a resource names itself: those that can be known without looking around. */
export const placesOf = (resource: Resource): readonly Place[] => {
  switch (resource.kind) {
    case 'Leaf':
      return [placeOf(secretOf(resource))];
    case 'Authority':
      return [placeOf(ownBundleOf(resource))];
    case 'TLSProfile':
      return [placeOf(profileObjectOf(resource))];
    case 'TrustBundle':
      return resource.spec.targets.flatMap(({ inject, clusterTrustBundle }): Place[] => {
        if (inject !== undefined) return [fieldPlace(inject.kind, inject.name, inject.webhooks)];
        if (clusterTrustBundle === undefined) return [];
        return [
          { plural: 'clustertrustbundles', namespace: undefined, name: clusterTrustBundle.name, part: '' },
        ];
      });
    default:
      return resource satisfies never;
  }
};
