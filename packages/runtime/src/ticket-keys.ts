import { createHash, hkdfSync } from 'node:crypto';

/** RFC 5077 keys as Node wants them: name, HMAC and AES key, 16 bytes each. */
export const TICKET_KEY_BYTES = 48;

/**
 * Ticket keys for one set of client CAs. A ticket says "this client was verified"; with other CAs it must not be
 * believed, or a removed CA comes back in. Derived, so that replicas that share `ticketKeys` go on sharing tickets.
 */
export function ticketKeysFor(secret: Uint8Array, clientCa: string | undefined): Buffer {
  const clientCaHash = createHash('sha256')
    .update(clientCa ?? '')
    .digest('hex');
  return Buffer.from(hkdfSync('sha256', secret, '', `handover tickets ${clientCaHash}`, TICKET_KEY_BYTES));
}
