import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import {
  type Certificate,
  HandoverError,
  type Instant,
  instant,
  type Purpose,
  parseCertificate,
  verifyChain,
} from '@handover/material';

/** A TLS connection, or the view of one that an HTTP/2 session gives. */
export type Peered = Pick<TLSSocket, 'getPeerCertificate'>;

/** OpenSSL follows no more issuers than this. */
const MAX_CHAIN = 100;

/**
 * The certificates that the peer showed and OpenSSL verified, as DER, leaf first. Of a resumed session a server knows the leaf
 * alone, and a client nothing. Not `getPeerX509Certificate`: on Node 20 it takes the chain out of the connection.
 */
export function shownBy(peer: Peered): readonly Buffer[] {
  const shown: Buffer[] = [];
  let at: DetailedPeerCertificate | undefined = peer.getPeerCertificate(true) ?? undefined;
  while (at?.raw !== undefined && shown.length < MAX_CHAIN) {
    shown.push(at.raw);
    const issuer: DetailedPeerCertificate | undefined = at.issuerCertificate;
    at = issuer === at ? undefined : issuer;
  }
  return shown;
}

/**
 * Whether these CAs would accept a peer that shows these certificates. Its leaf may have expired since the handshake: only the
 * CA is asked for. True for a peer without a certificate, which no CA has accepted.
 */
export function isStillTrusted(
  shown: readonly Buffer[],
  anchors: readonly Certificate[],
  purpose: Purpose,
  now: Instant,
): boolean {
  try {
    const chain = shown.map((der) => parseCertificate(der));
    const [leaf] = chain;
    if (leaf === undefined) return true;
    const at = instant(Math.min(Math.max(now, leaf.notBefore), leaf.notAfter));
    return verifyChain({ chain, anchors, at, purpose }).ok;
  } catch (error) {
    // A certificate that OpenSSL reads and we do not: whether it is trusted is not known.
    if (error instanceof HandoverError) return false;
    throw error;
  }
}

/** True when a CA of `before` is not in `after`. */
export const hasLost = (
  before: readonly Certificate[] | undefined,
  after: readonly Certificate[] | undefined,
): boolean => {
  if (before === undefined || after === undefined) return false;
  const kept = new Set(after.map(({ fingerprint }) => fingerprint));
  return before.some(({ fingerprint }) => !kept.has(fingerprint));
};
