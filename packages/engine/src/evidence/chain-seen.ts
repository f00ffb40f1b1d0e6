import type { Proof } from '@handover/core';
import type { Instant } from '@handover/material';
import type { AuthorityRecord } from '../snapshot/home.ts';

/** A leaf that a process serves. */
interface ShownChain {
  /** CA that signed the leaf. */
  readonly issuer: string;
  /** Fingerprints of what it sends behind the leaf; undefined: not shown. */
  readonly behind: readonly string[] | undefined;
}

/**
 * Whether a process sends the cross-certificate that is in its leaf's file. Only leaves of the CA that signs now have one there, and none once it has
 * expired: then there is nothing to see.
 */
export const chainSeen = (
  shown: readonly ShownChain[],
  { state }: AuthorityRecord,
  now: Instant,
): Pick<Proof, 'chain'> => {
  const current = state.generations.find(({ role }) => role === 'current');
  const cross = state.crosses.find(({ of }) => of === current?.number);
  if (cross === undefined || cross.notAfter <= now) return {};
  const sent = shown.map(({ issuer, behind }) =>
    issuer === current?.anchors[0].fingerprint ? behind?.includes(cross.fingerprint) : undefined,
  );
  if (sent.includes(false)) return { chain: 'strips' };
  return sent.length > 0 && sent.every((one) => one === true) ? { chain: 'sends' } : {};
};
