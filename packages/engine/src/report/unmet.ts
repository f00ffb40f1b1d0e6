import type { Authority } from '@handover/core';
import type { EngineErrorCode } from '../error.ts';
import {
  authorityRef,
  type Catalogue,
  idOf,
  leftOutAuthority,
  type Unusable,
} from '../snapshot/catalogue.ts';
import type { AuthorityId } from '../snapshot/home.ts';

export const choice = (names: readonly string[]): string =>
  names.length === 0 ? 'declare one' : `name one of: ${names.slice(0, 5).join(', ')}`;

/** Whether an Authority is neither declared nor left out: one that is left out is named itself. */
const isAbsent = (catalogue: Catalogue, id: AuthorityId): boolean =>
  !catalogue.authorities.has(id) && leftOutAuthority(catalogue, id) === undefined;

const unmet = (kind: string, id: string, code: EngineErrorCode, message: string): Unusable => ({
  kind,
  id,
  code,
  message,
});

const ofConsumers = (catalogue: Catalogue, authority: Authority): readonly Unusable[] => {
  const id = idOf(authority);
  const leaves = catalogue.leaves
    .filter((leaf) => authorityRef(leaf.spec.authority, leaf.metadata.namespace) === id)
    .map(idOf);
  return authority.spec.consumers.flatMap(({ name, leaf }, index) => {
    if (leaf === undefined || leaves.includes(authorityRef(leaf, authority.metadata.namespace))) return [];
    const message = `spec.consumers[${index}].leaf ${leaf} is no Leaf of this Authority, so that the next rotation waits for ${name}; ${choice(leaves)}`;
    return [unmet('Authority', id, 'CONSUMER_LEAF_UNKNOWN', message)];
  });
};

/** Valid resources that name another which is not declared: what they ask for is not made. */
export const unmetIn = (catalogue: Catalogue): readonly Unusable[] => {
  const known = choice([...catalogue.authorities.keys()]);
  return [
    ...catalogue.leaves.flatMap((leaf) => {
      const { authority } = leaf.spec;
      if (!isAbsent(catalogue, authorityRef(authority, leaf.metadata.namespace))) return [];
      const message = `spec.authority ${authority} is not declared, so that no certificate is issued; ${known}`;
      return [unmet('Leaf', idOf(leaf), 'AUTHORITY_UNKNOWN', message)];
    }),
    ...[...catalogue.authorities.values()].flatMap((authority) => ofConsumers(catalogue, authority)),
    ...catalogue.trustBundles.flatMap(({ metadata, spec }) =>
      spec.sources.flatMap(({ authority }, index) => {
        if (authority === undefined || !isAbsent(catalogue, authorityRef(authority, 'default'))) return [];
        const message = `spec.sources[${index}].authority ${authority} is not declared, so that the bundle lacks its CA; ${known}`;
        return [unmet('TrustBundle', metadata.name, 'AUTHORITY_UNKNOWN', message)];
      }),
    ),
  ];
};
