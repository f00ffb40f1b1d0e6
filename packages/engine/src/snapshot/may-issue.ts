import type { Authority, Leaf } from '@handover/core';
import { type Labels, ownLabels, selects } from './catalogue.ts';
import type { AuthorityRecord } from './home.ts';
import type { LeafSpec, Rule } from './issue-rules.ts';
import * as rules from './issue-rules.ts';
import { constraintRefusal } from './name-constraints.ts';

/** A field that is not in the certificate; `because` says what it is for. */
interface NotIdentity {
  readonly because: string;
}

const SUBJECT = {
  commonName: rules.commonName,
  organizations: rules.organizations,
} as const satisfies Record<keyof LeafSpec['subject'], Rule>;

/** Every field of a Leaf has a rule here, or a reason for having none: a new field without either does not compile. */
const RULES = {
  authority: { because: 'names the Authority; namespaceSelector decides' },
  secretName: { because: 'names the Secret, in the namespace of the Leaf' },
  key: rules.key,
  subject: SUBJECT,
  dnsNames: rules.dnsNames,
  ipAddresses: rules.ipAddresses,
  uris: rules.uris,
  usages: rules.usages,
  lifetime: rules.lifetime,
  renew: rules.renew,
  reload: { because: 'tells a program on this machine; directory home only' },
  files: { because: 'owner and mode of files; directory home only' },
  outputs: { because: 'formats of the same certificate and key, in the same Secret' },
  reuseKey: { because: 'the key is in the Secret already' },
} as const satisfies Record<keyof LeafSpec, Rule | NotIdentity | typeof SUBJECT>;

const FLAT: readonly (readonly [string, Rule])[] = Object.entries(RULES).flatMap(([field, rule]) => {
  if (typeof rule === 'function') return [[field, rule] as const];
  if ('because' in rule) return [];
  return Object.entries(rule).map(([part, inner]) => [`${field}.${part}`, inner] as const);
});

/** A Leaf that was not parsed, or by a newer schema, could have a field that is missing in this table. */
const unknownField = ({ spec }: Leaf): string | undefined => {
  const stray = Object.keys(spec).find((field) => !Object.hasOwn(RULES, field));
  if (stray !== undefined) return stray;
  const part = Object.keys(spec.subject).find((name) => !Object.hasOwn(SUBJECT, name));
  return part === undefined ? undefined : `subject.${part}`;
};

/** Whether this authority issues anything at all to a namespace: always to its own. */
export const servesNamespace = (
  { metadata, spec: { issueTo } }: Authority,
  namespace: string,
  namespaces: ReadonlyMap<string, Labels>,
): boolean =>
  namespace === metadata.namespace ||
  (issueTo.namespaceSelector !== undefined &&
    selects(issueTo.namespaceSelector, namespaces.get(namespace) ?? ownLabels(namespace)));

/** Why this authority may not issue this leaf; undefined: it may. */
export const refusalOf = (
  authority: Authority,
  leaf: Leaf,
  namespaces: ReadonlyMap<string, Labels>,
  record?: AuthorityRecord,
): string | undefined => {
  const { issueTo } = authority.spec;
  const { namespace } = leaf.metadata;
  const own = namespace === authority.metadata.namespace;
  if (!servesNamespace(authority, namespace, namespaces))
    return `spec.issueTo.namespaceSelector of the Authority does not allow Leaves of namespace ${namespace}; ask the Authority's owner to select that namespace`;
  const stray = unknownField(leaf);
  if (stray !== undefined) return `spec.${stray}: no rule allows this field; remove it`;
  const asked = { spec: leaf.spec, namespace, own, issueTo };
  for (const [field, rule] of FLAT) {
    const why = rule(asked);
    if (why !== undefined) return `spec.${field}: ${why}`;
  }
  return constraintRefusal(authority.spec, leaf.spec, record);
};
