import type { Instant } from '@handover/material';
import { cutMessage } from '../events/event.ts';
import type { Refused } from './judge.ts';
import type { Signed } from './sign.ts';

/** RFC 3339 in whole seconds: the dates have to equal those in the certificate. */
const iso = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

const condition = (type: string, reason: string, message: string, now: Instant) => ({
  type,
  status: 'True',
  reason,
  message: cutMessage(message),
  lastTransitionTime: iso(now),
});

/** The status of a request, written once and whole: the API server takes no second one. */
export const issuedStatus = ({ chain, refreshAt }: Signed, now: Instant) => {
  const [leaf] = chain;
  return {
    conditions: [condition('Issued', 'Issued', 'signed by Handover', now)],
    certificateChain: chain.map(({ pem }) => pem).join(''),
    notBefore: iso(leaf.notBefore),
    beginRefreshAt: iso(refreshAt),
    notAfter: iso(leaf.notAfter),
  };
};

export const refusedStatus = ({ is, reason, message }: Refused, now: Instant) => ({
  conditions: [condition(is, reason, message, now)],
});
