import { isIP, isIPv4 } from 'node:net';
import { hostIn } from '@handover/engine';

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/**
 * Whether a request that names this host may be answered. A page elsewhere can point a DNS name of its own at 127.0.0.1 and
 * then read what is served here as its own (DNS rebinding); an address cannot be pointed anywhere. So names are refused, and on
 * loopback every address that is not loopback.
 */
export const mayAsk = (header: string | undefined, listeningOn: string): boolean => {
  const host = header === undefined ? undefined : hostIn(header);
  if (host === undefined) return false;
  return isLoopback(host) || (!isLoopback(listeningOn) && isIP(host) !== 0);
};
