import { randomBytes } from 'node:crypto';
import type { SecureContextOptions, Server } from 'node:tls';
import { type ContextOptions, contextOptionsIn } from './client-source.ts';
import type { Follower } from './follower.ts';
import type { IdentityLabel, IdentityMaterial } from './identity-material.ts';
import { TICKET_KEY_BYTES, ticketKeysFor } from './ticket-keys.ts';
import type { TlsProfile } from './tls-profile.ts';

export interface ServeOptions extends ContextOptions {
  /** Versions, ciphers and groups come from here, and follow it. */
  readonly profile?: TlsProfile;
  /** Client CA for an identity that was opened without one. */
  readonly ca?: SecureContextOptions['ca'];
}

/** Puts material into a server now and at every change, until the server closes. */
export function serve(
  follower: Follower<IdentityLabel, IdentityMaterial>,
  server: Server,
  { profile, ...given }: ServeOptions,
): void {
  // setSecureContext forgets every option it is not given: what the server was created with is read back from it.
  const base = { ...contextOptionsIn(server), ...contextOptionsIn(given) };
  const secret = base.ticketKeys ?? randomBytes(TICKET_KEY_BYTES);
  const ownCa = given.ca ?? (server as Pick<SecureContextOptions, 'ca'>).ca;
  const apply = () => {
    const { pems } = follower.loaded.value;
    const ca = pems.ca ?? ownCa;
    server.setSecureContext({
      ...base,
      ...profile?.tlsOptions(),
      cert: pems.cert,
      key: pems.key,
      ...(ca === undefined ? {} : { ca }),
      ticketKeys: ticketKeysFor(secret, pems.ca, profile?.hash),
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
