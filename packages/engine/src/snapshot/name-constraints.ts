import { type Authority, nameConstraintsOf, outsideConstraints } from '@handover/core';
import type { AuthorityRecord } from './home.ts';
import type { LeafSpec } from './issue-rules.ts';

/**
 * Why verifiers would refuse this leaf from this authority's CAs. The Authority's spec counts at once, since the next CA will carry
 * it. The CAs in use count too, the previous one included: a verifier that holds only that one accepts the leaf through the
 * cross-certificate, and applies its constraints.
 */
export const constraintRefusal = (
  { nameConstraints }: Authority['spec'],
  spec: LeafSpec,
  record: AuthorityRecord | undefined,
): string | undefined => {
  const outside =
    nameConstraints === undefined ? undefined : outsideConstraints(spec, nameConstraintsOf(nameConstraints));
  if (outside !== undefined)
    return `spec.${outside} is outside spec.nameConstraints of the Authority; change it, or ask the Authority's owner to permit it there`;
  for (const { number, role, anchors, hasKey } of record?.state.generations ?? []) {
    // GnuTLS takes the way through the cross-certificate to a CA that stays trusted without its key, and applies its constraints.
    if (role !== 'retained' && (!hasKey || (role !== 'current' && role !== 'previous'))) continue;
    const constraints = record?.certificates.get(anchors[0].fingerprint)?.nameConstraints;
    const beyond = constraints === undefined ? undefined : outsideConstraints(spec, constraints);
    if (beyond !== undefined)
      return `spec.${beyond} is outside the name constraints of CA generation ${number}; remove it until that generation has left the bundles`;
  }
  return undefined;
};
