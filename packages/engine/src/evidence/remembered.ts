import type { InstanceSeen } from '@handover/core';
import type { AuthorityId } from '../snapshot/home.ts';
import type { ProcessShown } from './ask.ts';
import { unreadOf } from './read-document.ts';

/** What another process saw of the instances of consumers, by `instanceKey`. */
export interface RememberedInstances {
  of(authority: AuthorityId): ReadonlyMap<string, InstanceSeen>;
}

export const instanceKey = (consumer: string, uid: string): string => `${consumer} ${uid}`;

const NOT_ASKED =
  'which CAs it trusts is asked by handover run alone, with a certificate that is issued for it, and nothing is known of that yet';

/** What was seen now, and of the CAs that an mTLS server trusts what was seen by the process that may ask. */
export const withTrustOf = (shown: ProcessShown, before: InstanceSeen | undefined): ProcessShown => {
  const own = shown.proofs.filter(({ by, issuer }) => by !== 'probed' || issuer !== undefined);
  const asked = (before?.proofs ?? []).filter(
    ({ by, anchors, refuses, issuer }) =>
      by === 'probed' && issuer === undefined && (anchors ?? refuses) !== undefined,
  );
  return {
    ...shown,
    proofs: [...own, ...asked],
    unread: unreadOf(before === undefined ? NOT_ASKED : before.unread?.trust, shown.unread.leaf),
  };
};
