import type { ExternalLeaf } from '@handover/engine';
import { type Instant, isoSeconds, minute } from '@handover/material';
import { cutMessage } from '../events/event.ts';
import type { Refused } from './judge.ts';

/**
 * Share of its life after which the kubelet gets a new certificate. A rotation waits as long for a pod that reloads by itself: ten minutes for a
 * certificate of an hour, four hours for one of a day. Earlier costs more requests.
 */
const REFRESH_AT = 1 / 6;
/** The API server takes no earlier refresh. */
const EARLIEST_REFRESH_MS = 10 * minute;

/** RFC 3339 in whole seconds: the dates have to equal those in the certificate. */
const condition = (type: string, reason: string, message: string, now: Instant) => ({
  type,
  status: 'True',
  reason,
  message: cutMessage(message),
  lastTransitionTime: isoSeconds(now),
});

/** The status of a request, written once and whole: the API server takes no second one. */
export const issuedStatus = ({ chain }: ExternalLeaf, now: Instant) => {
  const [leaf] = chain;
  if (leaf === undefined) throw new TypeError('a chain begins with its leaf');
  const { notBefore, notAfter } = leaf;
  return {
    conditions: [condition('Issued', 'Issued', 'signed by Handover', now)],
    certificateChain: chain.map(({ pem }) => pem).join(''),
    notBefore: isoSeconds(notBefore),
    beginRefreshAt: isoSeconds(
      notBefore + Math.max(EARLIEST_REFRESH_MS, (notAfter - notBefore) * REFRESH_AT),
    ),
    notAfter: isoSeconds(notAfter),
  };
};

export const refusedStatus = ({ is, reason, message }: Refused, now: Instant) => ({
  conditions: [condition(is, reason, message, now)],
});
