import { hkdfSync, randomBytes } from 'node:crypto';
import type { SecureContextOptions, Server } from 'node:tls';
import type { ContextOptions } from './client-source.ts';
import { contextOptionsIn } from './client-source.ts';
import type { Follower } from './follower.ts';
import type { IdentityLabel, IdentityMaterial } from './identity-material.ts';
import type { TlsProfile } from './tls-profile.ts';

export interface ServeOptions extends ContextOptions {
  /** Versions, ciphers and groups come from here, and follow it. */
  readonly profile?: TlsProfile;
}

/** RFC 5077 keys as Node wants them: name, HMAC and AES key, 16 bytes each. */
const TICKET_KEY_BYTES = 48;

/**
 * Ticket keys for one set of client CAs. A ticket says "this client was verified"; with other CAs it must not be
 * believed, or a removed CA comes back in. Derived, so that replicas that share `ticketKeys` go on sharing tickets.
 */
const ticketKeysFor = (secret: Uint8Array, clientCaHash: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `handover tickets ${clientCaHash}`, TICKET_KEY_BYTES));

/** Puts material into a server now and at every change, until the server closes. */
export function serve(
  follower: Follower<IdentityLabel, IdentityMaterial>,
  server: Server,
  { profile, ...given }: ServeOptions,
): void {
  // setSecureContext forgets every option it is not given: what the server was created with is read back from it.
  const base: ContextOptions = { ...contextOptionsIn(server), ...contextOptionsIn(given) };
  const secret = base.ticketKeys ?? randomBytes(TICKET_KEY_BYTES);
  const ownCa = (given as SecureContextOptions).ca ?? (server as { ca?: SecureContextOptions['ca'] }).ca;
  const apply = () => {
    const { pems, bundle } = follower.loaded.value;
    const ca = pems.ca ?? ownCa;
    server.setSecureContext({
      ...base,
      ...profile?.tlsOptions(),
      cert: pems.cert,
      key: pems.key,
      ...(ca === undefined ? {} : { ca }),
      ticketKeys: ticketKeysFor(secret, bundle?.hash ?? ''),
    });
  };
  const applyOrKeep = () => {
    try {
      apply();
    } catch (error) {
      follower.complain(error);
    }
  };
  apply();
  const off = [follower.onSwap(applyOrKeep), profile?.onSwap(applyOrKeep)];
  server.once('close', () => {
    for (const unsubscribe of off) unsubscribe?.();
  });
}
