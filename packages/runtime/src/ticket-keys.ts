import { createHash, hkdfSync } from 'node:crypto';

/** RFC 5077 keys as Node wants them: name, HMAC and AES key, 16 bytes each. */
export const TICKET_KEY_BYTES = 48;

/**
 * Ticket keys for one set of client CAs and one TLS profile. A ticket says "this client was verified" and "this suite is
 * spoken"; with others neither must be believed, or a removed CA comes back in, and a removed suite too: OpenSSL resumes with
 * a ticket's suite whatever the server's list says by now (tried on 3.0). Derived, so that replicas that share `ticketKeys` go
 * on sharing tickets.
 */
export function ticketKeysFor(
  secret: Uint8Array,
  clientCa: string | undefined,
  profileHash?: string,
): Buffer {
  const clientCaHash = createHash('sha256')
    .update(clientCa ?? '')
    .digest('hex');
  const purpose = `handover tickets ${clientCaHash}${profileHash === undefined ? '' : ` ${profileHash}`}`;
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, TICKET_KEY_BYTES));
}
