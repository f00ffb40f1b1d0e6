import type { TrustBundle } from '@handover/core';
import { type AuthorityId, authorityRef } from '@handover/engine';
import type { ResolvedResources } from '../resources/resolved-resources.ts';

/** What has changed since resources were read last: namespaces with another Leaf, Authority or TLSProfile than before, or more than that. */
export type ChangedNamespaces = ReadonlySet<string> | 'all';
/** Authorities for which a change can make a difference. */
export type AffectedAuthorities = ReadonlySet<AuthorityId> | 'all';

export const union = (a: ChangedNamespaces, b: ChangedNamespaces): ChangedNamespaces =>
  a === 'all' || b === 'all' ? 'all' : new Set([...a, ...b]);

type Read = Pick<ResolvedResources, 'catalogue'>;

const sourcesOf = ({ spec }: TrustBundle): readonly AuthorityId[] =>
  spec.sources.flatMap(({ authority }) =>
    authority === undefined ? [] : [authorityRef(authority, 'default')],
  );

/** Authorities of these namespaces, and those that Leaves there name. */
const inNamespaces = ({ catalogue }: Read, namespaces: ReadonlySet<string>): readonly AuthorityId[] => [
  ...[...catalogue.authorities].flatMap(([id, { metadata }]) =>
    namespaces.has(metadata.namespace) ? [id] : [],
  ),
  ...catalogue.leaves.flatMap(({ metadata, spec }) =>
    namespaces.has(metadata.namespace) ? [authorityRef(spec.authority, metadata.namespace)] : [],
  ),
];

/** Each bundle by what is asked for, with the targets that another resource had first. */
const bundlesIn = ({ catalogue }: Read): ReadonlyMap<string, string> =>
  new Map(
    catalogue.trustBundles.map((bundle) => [
      bundle.metadata.name,
      JSON.stringify([bundle, [...(catalogue.contested?.get(bundle.metadata.name) ?? [])]]),
    ]),
  );

/**
 * Two Leaves may want one Secret, and another's may be free now: so a namespace counts as a whole, before and after. What its
 * resources do to bundles, by annotation or by a name that is taken, shows in the bundles; and authorities that share one go together.
 */
export const affectedAuthorities = (
  touched: ChangedNamespaces,
  before: Read | undefined,
  now: Read,
): AffectedAuthorities => {
  if (touched === 'all' || before === undefined) return 'all';
  const affected = new Set([...inNamespaces(before, touched), ...inNamespaces(now, touched)]);
  const [was, is] = [bundlesIn(before), bundlesIn(now)];
  for (const bundle of [...before.catalogue.trustBundles, ...now.catalogue.trustBundles]) {
    const { name } = bundle.metadata;
    const shared = sourcesOf(bundle);
    const isOfTheirs = shared.some((id) => touched.has(id.split('/', 1)[0] ?? ''));
    if (isOfTheirs || was.get(name) !== is.get(name)) for (const id of shared) affected.add(id);
  }
  return affected;
};
