import { isIP, isIPv4 } from 'node:net';
import { hostIn } from '@handover/engine';

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/**
 * Whether a request for this host may be answered. Another site can point its own DNS name at 127.0.0.1 and then read this page as its
 * own (DNS rebinding); an IP address cannot be redirected. So names are refused, and on loopback every other address.
 */
export const mayAsk = (header: string | undefined, listeningOn: string): boolean => {
  const host = header === undefined ? undefined : hostIn(header);
  if (host === undefined) return false;
  return isLoopback(host) || (!isLoopback(listeningOn) && isIP(host) !== 0);
};
