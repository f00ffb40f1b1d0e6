import { randomBytes } from 'node:crypto';
import type { SecureContextOptions, Server } from 'node:tls';
import { type ContextOptions, contextOptionsIn } from './client-source.ts';
import type { Follower } from './follower.ts';
import type { IdentityLabel, IdentityMaterial } from './identity-material.ts';
import { followConnections, ServedConnections } from './serve-drain.ts';
import { sessionIdContextFor, TICKET_KEY_BYTES, ticketKeysFor } from './ticket-keys.ts';
import type { TlsProfile } from './tls-profile.ts';

/** TLS options of a server. Certificate and key come from the identity. */
export interface ServeOptions extends ContextOptions {
  /** Versions, ciphers and groups follow this profile. */
  readonly profile?: TlsProfile | undefined;
  /** Client CA, when the identity was opened without a CA bundle. */
  readonly ca?: SecureContextOptions['ca'];
}

/** Sets a server's material now and at each change, until the server closes. */
export function serve(
  follower: Follower<IdentityLabel, IdentityMaterial>,
  server: Server,
  { profile, ...given }: ServeOptions,
): void {
  // setSecureContext forgets every option it is not given, so the server's own options are read back from it.
  const base = { ...contextOptionsIn(server), ...contextOptionsIn(given) };
  const secret = base.ticketKeys ?? randomBytes(TICKET_KEY_BYTES);
  const ownCa = given.ca ?? (server as Pick<SecureContextOptions, 'ca'>).ca;
  const apply = () => {
    const { pems } = follower.loaded.value;
    server.setSecureContext({
      ...base,
      ...profile?.tlsOptions(),
      ...pems,
      ca: pems.ca ?? ownCa,
      ticketKeys: ticketKeysFor(secret, pems.ca, profile?.hash),
      sessionIdContext: sessionIdContextFor(base.sessionIdContext, pems.ca, profile?.hash),
    });
  };
  const connections = new ServedConnections({
    drainMs: follower.options.drainMs,
    anchors: () => follower.loaded.value.bundle?.certificates,
    cut: (count, reason) => follower.cut(count, reason),
  });
  followConnections(server, connections);
  const applyOrKeep = () => {
    try {
      apply();
      connections.changed();
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
