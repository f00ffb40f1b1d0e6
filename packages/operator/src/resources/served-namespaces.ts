import type { Resource } from '@handover/core';
import { authorityRef, type Labels, ownLabels, type Selector, selects } from '@handover/engine';

/** Selectors that are told apart. With more of them every namespace counts as served: to compare them all would be the work of all. */
const MOST_SELECTORS = 256;

const namespaceIn = (reference: string | undefined): readonly string[] => {
  const [namespace, name] = reference?.split('/') ?? [];
  return namespace === undefined || name === undefined ? [] : [namespace];
};

const selectorsIn = (resource: Resource): readonly Selector[] => {
  if (resource.kind === 'Authority') return [resource.spec.issueTo.namespaceSelector ?? []].flat();
  if (resource.kind !== 'TrustBundle') return [];
  return resource.spec.targets.flatMap(
    ({ configMap, secret }) => (configMap ?? secret)?.namespaceSelector ?? [],
  );
};

const namedIn = (resource: Resource): readonly string[] => {
  switch (resource.kind) {
    case 'Authority':
    case 'TLSProfile':
      return [resource.metadata.namespace];
    case 'Leaf':
      return [];
    case 'TrustBundle':
      return resource.spec.sources.flatMap(({ authority, secret, configMap }) => [
        ...(authority === undefined ? [] : namespaceIn(authorityRef(authority, 'default'))),
        ...namespaceIn(secret?.name),
        ...namespaceIn(configMap?.name),
      ]);
    default:
      return resource satisfies never;
  }
};

/** Namespaces that an Authority issues to, a TrustBundle is written to, or that they name; and these. */
export const servedNamespaces = (
  resources: readonly Resource[],
  namespaces: ReadonlyMap<string, Labels> | undefined,
  always: readonly string[],
): ReadonlySet<string> => {
  const served = new Set([...always, ...resources.flatMap(namedIn)]);
  const all = namespaces ?? new Map([...served].map((name) => [name, ownLabels(name)]));
  const selectors = new Map(
    resources.flatMap(selectorsIn).map((selector) => [JSON.stringify(selector), selector]),
  );
  for (const [name, labels] of all)
    if (
      selectors.size > MOST_SELECTORS ||
      [...selectors.values()].some((selector) => selects(selector, labels))
    )
      served.add(name);
  return served;
};
