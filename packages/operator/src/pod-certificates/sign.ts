import { chainOf, issueLeaf, withRole } from '@handover/core';
import { type AuthorityRecord, entryOf, type Home, objectOf } from '@handover/engine';
import {
  after,
  type Certificate,
  type Duration,
  instant,
  minute,
  parseCertificate,
  second,
} from '@handover/material';
import { OperatorError } from '../error.ts';
import type { Granted } from './judge.ts';
import { SHORTEST } from './judge.ts';
import type { PodRequest } from './request.ts';

/** For clocks that run late. The API server takes no date further than five minutes from its own time. */
const BACK_MS = 3 * minute;
/**
 * Share of its life after which the kubelet gets a new certificate. A rotation waits as long for a pod that reloads by itself: ten minutes for a
 * certificate of an hour, four hours for one of a day. Earlier costs more requests.
 */
const REFRESH_AT = 1 / 6;
/** The API server takes no earlier refresh. */
const EARLIEST_REFRESH_MS = 10 * minute;

/** A certificate for a pod, and when the kubelet is to get the next. */
export interface Signed {
  readonly chain: readonly [Certificate, ...Certificate[]];
  readonly refreshAt: number;
}

type Signing = Pick<Home, 'keyring' | 'random' | 'clock' | 'ledger'>;

const wholeSeconds = (at: number): number => Math.floor(at / second) * second;

/** When its certificate ends at the latest: known before it is made, so with a minute for the write in between. */
export const endOf = (home: Pick<Home, 'clock'>, lifetime: Duration) =>
  after(home.clock.now(), lifetime - BACK_MS + minute);

/** Signs with the CA that is current in `record`; undefined: that CA ends within the hour, and its successor signs soon. */
export const sign = async (
  home: Signing,
  request: PodRequest,
  granted: Granted,
  record: AuthorityRecord,
): Promise<Signed | undefined> => {
  const current = withRole(record.state, 'current');
  const [issuer, key] = [
    record.certificates.get(current?.anchors[0].fingerprint ?? ''),
    record.keys.get(current?.number ?? -1),
  ];
  if (current === undefined || issuer === undefined || key === undefined)
    throw new OperatorError(
      'STATE_UNREADABLE',
      `the state of ${request.authority} lacks its current CA or key; restore it`,
    );
  const now = home.clock.now();
  const notBefore = instant(wholeSeconds(now - BACK_MS));
  if (
    Math.min(notBefore + granted.lifetime, issuer.notAfter) - Math.max(notBefore, issuer.notBefore) <
    SHORTEST
  )
    return undefined;
  const leaf = parseCertificate(
    await issueLeaf({
      issuer,
      signer: await home.keyring.open(key),
      publicKey: granted.key,
      serial: home.random(16),
      subject: {},
      ...granted.names,
      ipAddresses: [],
      usages: granted.usages,
      notBefore,
      notAfter: after(notBefore, granted.lifetime),
    }),
  );
  const crosses = chainOf(record.state, current.number).flatMap(
    ({ fingerprint }) => record.certificates.get(fingerprint) ?? [],
  );
  await home.ledger?.issued(
    entryOf(leaf, now, {
      kind: 'leaf',
      authority: request.authority,
      generation: current.number,
      for: objectOf('Pod', `${request.namespace}/${request.pod.name}`, request.pod.uid),
      askedBy: { via: 'request', manager: `PodCertificateRequest ${request.name}` },
      why: 'the kubelet asked for a certificate of this pod',
    }),
  );
  const life = leaf.notAfter - leaf.notBefore;
  return {
    chain: [leaf, ...crosses],
    refreshAt: wholeSeconds(leaf.notBefore + Math.max(EARLIEST_REFRESH_MS, life * REFRESH_AT)),
  };
};
