import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { usageError } from '../error-line.ts';
import type { TlsTarget } from '../tls-check/offer.ts';

/** A server, and the pod that it is, if it is one. */
export interface CheckTarget extends TlsTarget {
  readonly pod?: string | undefined;
}

/** `HOST:PORT`; an IPv6 address stands in brackets. */
export const hostAndPort = (text: string): { readonly host: string; readonly port: number } => {
  const [, six, other, digits] = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text) ?? [];
  // what URLs do, too: letters beyond ASCII are spelled as DNS has them, and what can be no host is none
  const host = six ?? (isIP(other ?? '') === 0 ? domainToASCII(other ?? '') : other);
  const port = Number(digits);
  if (host === undefined || host === '' || host.length > 253 || !(port >= 1 && port <= 65_535))
    throw usageError(`${text} is no server; write HOST:PORT, such as localhost:8443 or [::1]:8443`);
  return { host, port };
};
