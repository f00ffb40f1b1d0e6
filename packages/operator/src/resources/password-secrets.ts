import {
  authorityRef,
  type Catalogue,
  isStatic,
  outputsOfLeaf,
  outputsOfTarget,
  placedTargets,
  type ResourceKey,
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

/** Secrets that hold the passwords of keystores. */
export const passwordSecrets = (catalogue: Catalogue): readonly PasswordSecret[] => [
  ...catalogue.leaves.flatMap((leaf) => {
    const { namespace } = leaf.metadata;
    const key = { kind: 'Authority', id: authorityRef(leaf.spec.authority, namespace) } as const;
    return secretsIn(outputsOfLeaf(leaf), namespace).map((place) => ({ place, key }));
  }),
  ...catalogue.trustBundles.flatMap((bundle) => {
    const keys: readonly ResourceKey[] = isStatic(bundle)
      ? [{ kind: 'TrustBundle', id: bundle.metadata.name }]
      : bundle.spec.sources.flatMap(({ authority }) =>
          authority === undefined
            ? []
            : [{ kind: 'Authority', id: authorityRef(authority, 'default') } as const],
        );
    return placedTargets(bundle, catalogue).flatMap(([object, target]) =>
      secretsIn(outputsOfTarget(target), placeOf(object).namespace).flatMap((place) =>
        keys.map((key) => ({ place, key })),
      ),
    );
  }),
];
