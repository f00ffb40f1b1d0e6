import { isIP } from 'node:net';

/** Name or address in a Host header, without its port; undefined: the header is malformed. */
export const hostIn = (header: string): string | undefined => {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/i.exec(header) ?? [];
  return (bracketed ?? plain)?.toLowerCase();
};

/** Names of Services in a cluster: public DNS cannot resolve them. */
const IN_CLUSTER = /^[a-z0-9.-]+\.svc(\.cluster\.local)?$/;

/**
 * Whether a probe or a scraper may have sent this Host header: an address, localhost, the name of a Service, or one of `names`.
 * An attacker's page can point any other DNS name at an address behind the firewall and read the answers (DNS rebinding).
 */
export const isOwnHost = (header: string | undefined, names: readonly string[]): boolean => {
  const host = header === undefined ? undefined : hostIn(header);
  if (host === undefined) return false;
  return isIP(host) !== 0 || host === 'localhost' || IN_CLUSTER.test(host) || names.includes(host);
};
