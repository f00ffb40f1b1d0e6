import { type Authority, nameConstraintsOf, outsideConstraints } from '@handover/core';
import type { AuthorityRecord } from './home.ts';
import type { LeafSpec } from './issue-rules.ts';

/**
 * Why verifiers would not accept this leaf from this authority's CAs. The Authority's spec counts at once, as its next CA
 * will carry it. So do the CAs in use, the previous one too: a verifier that holds only that one sees the leaf through the
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
    return `spec.${outside} is outside spec.nameConstraints of the Authority; change it, or ask the owner of the Authority to permit it there`;
  for (const { number, role, anchors, hasKey } of record?.state.generations ?? []) {
    if (!hasKey || (role !== 'current' && role !== 'previous')) continue;
    const constraints = record?.certificates.get(anchors[0].fingerprint)?.nameConstraints;
    const beyond = constraints === undefined ? undefined : outsideConstraints(spec, constraints);
    if (beyond !== undefined)
      return `spec.${beyond} is outside the name constraints of CA generation ${number}; leave it out until a rotation has retired that generation`;
  }
  return undefined;
};
