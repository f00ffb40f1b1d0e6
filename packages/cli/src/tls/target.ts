import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { usageError } from '../error-line.ts';
import type { TlsTarget } from '../tls-check/offer.ts';

/** A server, and its pod, if it has one. */
export interface CheckTarget extends TlsTarget {
  readonly pod?: string | undefined;
}

/** `HOST:PORT`; an IPv6 address is in brackets. */
export const hostAndPort = (text: string): { readonly host: string; readonly port: number } => {
  const [, six, other, digits] = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text) ?? [];
  // as URLs do: names beyond ASCII are encoded, and an impossible host is refused
  const host = six ?? (isIP(other ?? '') === 0 ? domainToASCII(other ?? '') : other);
  const port = Number(digits);
  if (host === undefined || host === '' || host.length > 253 || !(port >= 1 && port <= 65_535))
    throw usageError(`"${text}" is not a server; write HOST:PORT, such as localhost:8443 or [::1]:8443`);
  return { host, port };
};
