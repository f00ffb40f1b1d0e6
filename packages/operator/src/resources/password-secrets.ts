import type { Leaf } from '@handover/core';
import {
  authorityRef,
  type Catalogue,
  isStatic,
  outputsOfLeaf,
  outputsOfTarget,
  placedTargets,
  type ResourceKey,
  refusalOf,
} from '@handover/engine';
import { type Place, placeOf } from '../objects/place.ts';

/** A Secret that a password is read from, and the work that reads it. */
interface PasswordSecret {
  readonly place: Place;
  readonly key: ResourceKey;
}

type Outputs = ReturnType<typeof outputsOfTarget>;

const secretsIn = (outputs: Outputs, namespace: string | undefined): readonly Place[] =>
  outputs.flatMap(({ passwordFrom }): Place[] =>
    passwordFrom?.secret === undefined
      ? []
      : [{ plural: 'secrets', namespace, name: passwordFrom.secret.name, part: passwordFrom.secret.key }],
  );

/** Leaves whose Authority is there and issues to them. */
export const issuedLeaves = ({ authorities, leaves, namespaces }: Catalogue): readonly Leaf[] =>
  leaves.filter((leaf) => {
    const authority = authorities.get(authorityRef(leaf.spec.authority, leaf.metadata.namespace));
    return authority !== undefined && refusalOf(authority, leaf, namespaces) === undefined;
  });

/** Secrets that hold the passwords of keystores: of those that are made, not of all that are asked for. */
export const passwordSecrets = (catalogue: Catalogue): readonly PasswordSecret[] => [
  ...issuedLeaves(catalogue).flatMap((leaf) => {
    const { namespace } = leaf.metadata;
    const key = { kind: 'Authority', id: authorityRef(leaf.spec.authority, namespace) } as const;
    return secretsIn(outputsOfLeaf(leaf), namespace).map((place) => ({ place, key }));
  }),
  ...catalogue.trustBundles.flatMap((bundle) => {
    const keys: readonly ResourceKey[] = isStatic(bundle)
      ? [{ kind: 'TrustBundle', id: bundle.metadata.name }]
      : bundle.spec.sources.flatMap(({ authority }) => {
          const id = authority === undefined ? '' : authorityRef(authority, 'default');
          return catalogue.authorities.has(id) ? [{ kind: 'Authority', id } as const] : [];
        });
    return placedTargets(bundle, catalogue).flatMap(([object, target]) =>
      secretsIn(outputsOfTarget(target), placeOf(object).namespace).flatMap((place) =>
        keys.map((key) => ({ place, key })),
      ),
    );
  }),
];
