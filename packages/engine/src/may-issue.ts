import type { Authority, Leaf } from '@handover/core';
import { type Labels, ownLabels, selects } from './catalogue.ts';

/** `*` stands for anything but the end of the name. */
const matches = (pattern: string, name: string): boolean => {
  const escaped = pattern
    .toLowerCase()
    .split('*')
    .map((part) => part.replace(/[.\\+?^${}()|[\]]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.+')}$`).test(name.toLowerCase());
};

/** Why this authority may not issue this leaf; undefined: it may. */
export const refusalOf = (
  authority: Authority,
  leaf: Leaf,
  namespaces: ReadonlyMap<string, Labels>,
): string | undefined => {
  const { namespaceSelector, dnsNames: patterns } = authority.spec.issueTo;
  const namespace = leaf.metadata.namespace;
  const labels = namespaces.get(namespace) ?? ownLabels(namespace);
  const own = namespace === authority.metadata.namespace;
  if (!own && (namespaceSelector === undefined || !selects(namespaceSelector, labels)))
    return `its issueTo does not allow leaves of namespace ${namespace}`;
  const allowed = patterns ?? (own ? undefined : [`*.${namespace}.svc`, `*.${namespace}.svc.cluster.local`]);
  if (allowed === undefined) return undefined;
  const stray = leaf.spec.dnsNames.find((name) => !allowed.some((pattern) => matches(pattern, name)));
  if (stray !== undefined) return `its issueTo does not allow the name ${stray}`;
  const { ipAddresses, uris } = leaf.spec;
  if (!own && ipAddresses.length + uris.length > 0)
    return 'leaves of other namespaces may carry DNS names only';
  return undefined;
};
