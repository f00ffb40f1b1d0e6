import { type Authority, RELOAD, type TrustBundle } from '@handover/core';
import {
  authorityRef,
  type Catalogue,
  idOf,
  leftOutAuthority,
  targetsOf,
  type Unusable,
} from '../snapshot/catalogue.ts';
import { hooksIn } from '../snapshot/hooks.ts';
import { bundlesWith } from '../snapshot/responsibilities.ts';
import { choice, unmetIn } from './unmet.ts';
import { unusableLine } from './unusable.ts';

type Target = TrustBundle['spec']['targets'][number];

/** Kinds of target that are objects of an API server. */
const NEEDS_API = ['inject', 'clusterTrustBundle'] as const satisfies readonly (keyof Target)[];

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
    if (authority === undefined) return [];
    if (leftOutAuthority(catalogue, authorityRef(authority, 'default')) === undefined) return [];
    return [
      `TrustBundle ${bundle.metadata.name}: spec.sources[${index}].authority ${authority} has no effect: it is invalid; correct that Authority`,
    ];
  });

const ofConsumers = (catalogue: Catalogue, authority: Authority): readonly string[] => {
  const id = idOf(authority);
  const bundles = bundlesWith(catalogue, id).map(({ metadata }) => metadata.name);
  return authority.spec.consumers.flatMap(({ name, bundle }, index) =>
    bundle === undefined || bundles.includes(bundle)
      ? []
      : [
          `Authority ${id}: spec.consumers[${index}].bundle ${bundle} is no TrustBundle with this Authority, so that ${name} counts as a reader of the Authority's own bundle; ${choice(bundles)}`,
        ],
  );
};

/**
 * What names a resource that is not declared, except what was `said` before, and settings that have no effect, one line each: no reason
 * to stop, but worth a warning.
 */
export const remarksOn = (
  catalogue: Catalogue,
  hasApi: boolean,
  said: readonly Unusable[] = [],
): readonly string[] => [
  ...(hasApi ? hooksIn(catalogue) : []).map(
    ({ name }) =>
      `${name}: its reload has no effect: the operator runs no commands; annotate workloads that read their files only when they start with ${RELOAD}: restart`,
  ),
  ...unmetIn(catalogue)
    .map(unusableLine)
    .filter((line) => !said.some((one) => unusableLine(one) === line)),
  ...catalogue.leaves.flatMap((leaf) => {
    const { authority } = leaf.spec;
    const id = authorityRef(authority, leaf.metadata.namespace);
    if (leftOutAuthority(catalogue, id) === undefined) return [];
    return [
      `Leaf ${idOf(leaf)}: spec.authority ${authority} is invalid, so that no certificate is issued; correct that Authority`,
    ];
  }),
  ...[...catalogue.authorities.values()].flatMap((authority) => [
    ...ofConsumers(catalogue, authority),
    ...(hasApi || authority.spec.podCertificates === undefined
      ? []
      : [
          `Authority ${idOf(authority)}: spec.podCertificates has no effect: a directory has no pods; remove it`,
        ]),
  ]),
  ...catalogue.trustBundles.flatMap((bundle) => [
    ...ofSources(catalogue, bundle),
    ...ofTargets(catalogue, bundle, hasApi),
  ]),
];
