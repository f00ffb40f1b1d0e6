import { hash, hkdfSync } from 'node:crypto';

/** RFC 5077 keys as Node takes them: name, HMAC key and AES key, 16 bytes each. */
export const TICKET_KEY_BYTES = 48;

/** Names one set of client CAs and one TLS profile. */
const scopeOf = (clientCa: string | undefined, profileHash: string | undefined): string =>
  `${hash('sha256', clientCa ?? '', 'hex')}${profileHash === undefined ? '' : ` ${profileHash}`}`;

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
  const purpose = `handover tickets ${scopeOf(clientCa, profileHash)}`;
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, TICKET_KEY_BYTES));
}

/**
 * The session id context for one set of client CAs and one TLS profile. OpenSSL resumes no session of another context, so a
 * store of TLS 1.2 sessions (`newSession`, `resumeSession`) does not bring a removed CA back. At most 32 bytes.
 */
export const sessionIdContextFor = (
  own: string | undefined,
  clientCa: string | undefined,
  profileHash?: string,
): string => hash('sha256', `${own ?? ''} ${scopeOf(clientCa, profileHash)}`, 'hex').slice(0, 32);
