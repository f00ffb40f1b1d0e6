import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { handshake } from '@handover/engine';
import type { Certificate, Clock } from '@handover/material';
import type { TlsTarget } from '../tls-check/offer.ts';

/** What a server shows at one of the addresses behind a name. */
export interface Served {
  readonly address: string;
  /** The leaf that it showed last: the expected one, or the first that was another. */
  readonly leaf?: Certificate;
  /** Why it shows no leaf at all, to be read after its address. */
  readonly why?: string;
  readonly verdict: 'served' | 'another' | 'silent';
}

/** Workers that run on for a moment after a reload still show the old leaf: one handshake is not enough. */
const HANDSHAKES = 5;
const BETWEEN_MS = 150;

/** For servers with a certificate of each kind: one client wants this kind. */
const signaturesFor = ({ keyAlgorithm }: Certificate): string | undefined => {
  if (keyAlgorithm.startsWith('ECDSA-')) return 'ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512';
  if (keyAlgorithm.startsWith('RSA-'))
    return 'RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:RSA+SHA256:RSA+SHA384:RSA+SHA512';
  return undefined;
};

const NO_LEAF = 'ends the handshake before it shows a certificate';

const servedAt = async (
  clock: Clock,
  target: TlsTarget,
  address: string,
  expected: Certificate,
): Promise<Served> => {
  const sigalgs = signaturesFor(expected);
  const { port, starttls, servername = target.host } = target;
  const door = { host: address, port, servername, starttls };
  let seen: Certificate | undefined;
  for (let at = 0; at < HANDSHAKES; at++) {
    if (at > 0) await clock.sleep(BETWEEN_MS);
    let result = await handshake(clock, { ...door, sigalgs }, undefined);
    // A server without a key of this kind ends the handshake: what does it show to others?
    if (result.kind === 'done' && result.chain.length === 0 && sigalgs !== undefined)
      result = await handshake(clock, door, undefined);
    if (result.kind === 'unreachable') return { address, why: result.why, verdict: 'silent' };
    [seen] = result.chain;
    if (seen === undefined) return { address, why: NO_LEAF, verdict: 'silent' };
    if (seen.fingerprint !== expected.fingerprint) return { address, leaf: seen, verdict: 'another' };
  }
  return { address, ...(seen === undefined ? {} : { leaf: seen }), verdict: 'served' };
};

const addressesOf = async (host: string): Promise<readonly string[] | string> => {
  if (isIP(host) !== 0) return [host];
  try {
    return [...new Set((await lookup(host, { all: true })).map(({ address }) => address))];
  } catch (error) {
    return `has no address (${(error as NodeJS.ErrnoException).code})`;
  }
};

/** What a port shows, at every address behind its name. */
export const servedBehind = async (
  clock: Clock,
  target: TlsTarget,
  expected: Certificate,
): Promise<readonly Served[]> => {
  const addresses = await addressesOf(target.host);
  if (typeof addresses === 'string') return [{ address: target.host, why: addresses, verdict: 'silent' }];
  return Promise.all(addresses.map((address) => servedAt(clock, target, address, expected)));
};

/**
 * The first address that does not show the expected leaf; undefined: all do. A name such as localhost has addresses where nothing
 * listens: they count only where no other one answers.
 */
export const notServed = (all: readonly Served[]): Served | undefined => {
  const answering = all.filter(({ why }) => why?.startsWith('cannot be reached') !== true);
  return (answering.length > 0 ? answering : all).find(({ verdict }) => verdict !== 'served');
};
