import { hash, hkdfSync } from 'node:crypto';

/** RFC 5077 keys as Node takes them: name, HMAC key and AES key, 16 bytes each. */
export const TICKET_KEY_BYTES = 48;

/**
 * Ticket keys for one set of client CAs and one TLS profile. A ticket states that a client was verified and which suite it
 * uses. With other keys for each CA set and profile, a removed CA or suite cannot come back by resumption: OpenSSL resumes
 * with the ticket's suite even when the server no longer lists it (seen on 3.0). The keys are derived, so that replicas with
 * the same `ticketKeys` still share tickets.
 */
export function ticketKeysFor(
  secret: Uint8Array,
  clientCa: string | undefined,
  profileHash?: string,
): Buffer {
  const clientCaHash = hash('sha256', clientCa ?? '', 'hex');
  const purpose = `handover tickets ${clientCaHash}${profileHash === undefined ? '' : ` ${profileHash}`}`;
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, TICKET_KEY_BYTES));
}
