import { randomBytes } from 'node:crypto';
import type { SecureContextOptions, Server } from 'node:tls';
import { type ContextOptions, contextOptionsIn } from './client-source.ts';
import type { Follower } from './follower.ts';
import type { IdentityLabel, IdentityMaterial } from './identity-material.ts';
import { followConnections, ServedConnections } from './serve-drain.ts';
import { sessionIdContextFor, TICKET_KEY_BYTES, ticketKeysFor } from './ticket-keys.ts';
import type { TlsProfile } from './tls-profile.ts';

/**
 * TLS options of a server. Certificate and key come from the identity.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:https';
 * import type { ServeOptions } from '@handover/runtime';
 *
 * const options: ServeOptions = { profile, honorCipherOrder: true };
 * identity.serve(createServer((_, response) => response.end('hello')), options).listen(8443);
 * ```
 */
export interface ServeOptions extends ContextOptions {
  /** Versions, ciphers and groups follow this profile. */
  readonly profile?: TlsProfile | undefined;
  /** Client CA, when the identity was opened without a CA bundle. */
  readonly ca?: SecureContextOptions['ca'];
}

/** Sets a server's material now and at each change, for as long as the server listens. */
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
    clock: follower.options.clock,
    drainMs: follower.options.drainMs,
    anchors: () => follower.loaded.value.bundle?.certificates,
    cut: (count, reason) => follower.cut(count, reason),
  });
  followConnections(server, connections);
  const taken = () => {
    follower.usage.taken(server, follower.loaded);
    profile?.taken(server);
  };
  /** What has changed is not in use when the server refuses it; the rest still is. */
  const applyOrKeep =
    (...changed: readonly (Pick<Follower<never, never>, 'complain'> | undefined)[]) =>
    () => {
      try {
        apply();
        connections.changed();
        taken();
      } catch (error) {
        for (const source of changed) source?.complain(error, server);
      }
    };
  const follow = () => [
    follower.onSwap(applyOrKeep(follower)),
    ...(profile === undefined ? [] : [profile.onSwap(applyOrKeep(profile))]),
  ];
  apply();
  taken();
  let off = follow();
  server.on('close', () => {
    for (const unsubscribe of off.splice(0)) unsubscribe();
    follower.usage.gone(server);
    profile?.gone(server);
  });
  // A server that was closed may listen again, with what it took last when it refuses the newest.
  server.on('listening', () => {
    if (off.length > 0) return;
    off = follow();
    applyOrKeep(follower, profile)();
  });
}
