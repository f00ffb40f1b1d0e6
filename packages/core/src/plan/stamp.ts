/**
 * What a restart-only workload's pods have loaded, as a stamp on their template. It changes when something is added, never when an
 * anchor or a cross-certificate is dropped: that restarts nothing.
 */
export interface Stamp {
  /** Generation that a verifier started under this stamp trusts. */
  readonly trust: number;
  readonly distrusts: number;
  /** For a presenter: generation that signed its leaf, and the leaf itself. */
  readonly issuer?: number;
  readonly leaf?: string;
}

export const formatStamp = (stamp: Stamp): string =>
  stamp.issuer === undefined
    ? `${stamp.trust}.${stamp.distrusts}`
    : `${stamp.trust}.${stamp.distrusts}.${stamp.issuer}-${stamp.leaf ?? ''}`;

/** Undefined for any other text: then the template counts as never stamped. */
export const parseStamp = (text: string): Stamp | undefined => {
  const found = /^(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9})-([0-9a-f+]*))?$/.exec(text);
  if (found === null) return undefined;
  const [, trust, distrusts, issuer, leaf] = found;
  const both = { trust: Number(trust), distrusts: Number(distrusts) };
  return issuer === undefined ? both : { ...both, issuer: Number(issuer), leaf: leaf ?? '' };
};

/** Whether a template stamped `has` was rolled for everything in `wants`. Numbers only move forward. */
export const covers = (has: Stamp | undefined, wants: Stamp): boolean => {
  if (has === undefined) return false;
  if (has.trust < wants.trust || has.distrusts < wants.distrusts) return false;
  if (wants.issuer === undefined) return true;
  if (has.issuer === undefined || has.issuer < wants.issuer) return false;
  return has.issuer > wants.issuer || has.leaf === wants.leaf;
};
