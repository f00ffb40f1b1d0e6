import type { AuthorityState } from './authority.ts';

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
  /** The CA of that generation: the beginning of its fingerprint. Undefined in stamps of earlier versions. */
  readonly ca?: string;
}

const MARK_LENGTH = 8;

/** How a stamp names a CA. */
export const markOf = (fingerprint: string): string => fingerprint.slice(0, MARK_LENGTH);

export const formatStamp = ({ trust, distrusts, issuer, leaf = '', ca }: Stamp): string =>
  `${trust}.${distrusts}${issuer === undefined ? '' : `.${issuer}-${leaf}`}${ca === undefined ? '' : `@${ca}`}`;

/** Undefined for any other text: then the template counts as never stamped. */
export const parseStamp = (text: string): Stamp | undefined => {
  const found = /^(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9})-([0-9a-f+]*))?(?:@([0-9a-f]{8}))?$/.exec(text);
  if (found === null) return undefined;
  const [, trust, distrusts, issuer, leaf, ca] = found;
  return {
    trust: Number(trust),
    distrusts: Number(distrusts),
    ...(issuer === undefined ? {} : { issuer: Number(issuer), leaf: leaf ?? '' }),
    ...(ca === undefined ? {} : { ca }),
  };
};

/**
 * A stamp counts only if this authority can have made it: it names a CA that the authority knows. Pods that were restored from manifests or a backup
 * carry stamps of an authority whose state is gone, or of another cluster: docs/decisions/0410.
 */
export const believedStamp = (
  { generations }: AuthorityState,
  stamp: Stamp | undefined,
): Stamp | undefined => {
  if (stamp === undefined) return undefined;
  const named = generations.find(({ number }) => number === stamp.trust);
  const isNamed =
    stamp.ca === undefined
      ? named?.namedInStamps === undefined
      : named?.anchors.some(({ fingerprint }) => markOf(fingerprint) === stamp.ca);
  return named !== undefined && isNamed === true ? stamp : undefined;
};

/** Whether a template stamped `has` was rolled for everything in `wants`. Numbers only move forward. */
export const covers = (has: Stamp | undefined, wants: Stamp): boolean => {
  if (has === undefined) return false;
  if (has.trust < wants.trust || has.distrusts < wants.distrusts) return false;
  if (wants.issuer === undefined) return true;
  if (has.issuer === undefined || has.issuer < wants.issuer) return false;
  return has.issuer > wants.issuer || has.leaf === wants.leaf;
};
