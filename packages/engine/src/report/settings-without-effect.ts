import { type Authority, RELOAD, type TrustBundle } from '@handover/core';
import { authorityRef, type Catalogue, idOf, leftOutAuthority, targetsOf } from '../look/catalogue.ts';
import type { AuthorityId } from '../look/home.ts';
import { hooksIn } from '../look/hooks.ts';
import { bundlesWith } from '../look/responsibilities.ts';

type Target = TrustBundle['spec']['targets'][number];

/** Kinds of target that are objects of an API server. */
const NEEDS_API = ['inject', 'clusterTrustBundle'] as const satisfies readonly (keyof Target)[];

const choice = (names: readonly string[]): string =>
  names.length === 0 ? 'declare one' : `name one of: ${names.slice(0, 5).join(', ')}`;

/** What is wrong with an Authority that a resource names, what follows from it, and what to do. */
const lackOf = (catalogue: Catalogue, id: AuthorityId, effect = ''): string =>
  leftOutAuthority(catalogue, id) === undefined
    ? `is not declared${effect}; ${choice([...catalogue.authorities.keys()])}`
    : `is invalid${effect}; correct that Authority`;

const ofTargets = (catalogue: Catalogue, bundle: TrustBundle, hasApi: boolean): readonly string[] =>
  bundle.spec.targets.flatMap((target, index) => {
    const where = `TrustBundle ${bundle.metadata.name}: spec.targets[${index}]`;
    const kind = NEEDS_API.find((candidate) => target[candidate] !== undefined);
    if (kind !== undefined)
      return hasApi
        ? []
        : [
            `${where}.${kind} has no effect: a directory has no such object; use configMap or secret, or the Kubernetes home`,
          ];
    const none =
      targetsOf({ ...bundle, spec: { ...bundle.spec, targets: [target] } }, catalogue).length === 0;
    if (!none || hasApi) return [];
    return [
      `${where} has no effect: its namespaceSelector selects no namespace; ${choice([...catalogue.namespaces.keys()])}`,
    ];
  });

const ofSources = (catalogue: Catalogue, bundle: TrustBundle): readonly string[] =>
  bundle.spec.sources.flatMap(({ authority }, index) => {
    if (authority === undefined || catalogue.authorities.has(authorityRef(authority, 'default'))) return [];
    return [
      `TrustBundle ${bundle.metadata.name}: spec.sources[${index}].authority ${authority} has no effect: it ${lackOf(catalogue, authorityRef(authority, 'default'))}`,
    ];
  });

const ofConsumers = (catalogue: Catalogue, authority: Authority): readonly string[] => {
  const id = idOf(authority);
  const { namespace } = authority.metadata;
  const leaves = catalogue.leaves
    .filter((leaf) => authorityRef(leaf.spec.authority, leaf.metadata.namespace) === id)
    .map(idOf);
  const bundles = bundlesWith(catalogue, id).map(({ metadata }) => metadata.name);
  return authority.spec.consumers.flatMap(({ name, leaf, bundle }, index) => {
    const where = `Authority ${id}: spec.consumers[${index}]`;
    const remarks: string[] = [];
    if (leaf !== undefined && !leaves.includes(authorityRef(leaf, namespace)))
      remarks.push(
        `${where}.leaf ${leaf} is no Leaf of this Authority, so that the next rotation waits for ${name}; ${choice(leaves)}`,
      );
    if (bundle !== undefined && !bundles.includes(bundle))
      remarks.push(
        `${where}.bundle ${bundle} is no TrustBundle with this Authority, so that ${name} counts as a reader of the Authority's own bundle; ${choice(bundles)}`,
      );
    return remarks;
  });
};

/** Settings that have no effect, one line each: no reason to stop, but worth a warning. */
export const remarksOn = (catalogue: Catalogue, hasApi: boolean): readonly string[] => [
  ...(hasApi ? hooksIn(catalogue) : []).map(
    ({ name }) =>
      `${name}: its reload has no effect: the operator runs no commands; annotate workloads that read their files only when they start with ${RELOAD}: restart`,
  ),
  ...catalogue.leaves.flatMap((leaf) => {
    const { authority } = leaf.spec;
    if (catalogue.authorities.has(authorityRef(authority, leaf.metadata.namespace))) return [];
    return [
      `Leaf ${idOf(leaf)}: spec.authority ${authority} ${lackOf(catalogue, authorityRef(authority, leaf.metadata.namespace), ', so that no certificate is issued')}`,
    ];
  }),
  ...[...catalogue.authorities.values()].flatMap((authority) => ofConsumers(catalogue, authority)),
  ...catalogue.trustBundles.flatMap((bundle) => [
    ...ofSources(catalogue, bundle),
    ...ofTargets(catalogue, bundle, hasApi),
  ]),
];
