import { randomBytes } from 'node:crypto';
import type { SecureContextOptions, Server } from 'node:tls';
import { type ContextOptions, contextOptionsIn, SOURCE } from '../clients/client-source.ts';
import { RuntimeError } from '../error.ts';
import type { Follower } from '../files/follower.ts';
import type { IdentityLabel, IdentityMaterial } from '../identity-material.ts';
import { FrozenTrust } from '../status/frozen-trust.ts';
import type { StatusSource } from '../status/status.ts';
import type { TlsProfile } from '../tls-profile.ts';
import type { Trust } from '../trust.ts';
import { partsOf } from './known-texts.ts';
import { followConnections, ServedConnections } from './serve-drain.ts';
import { ServerContexts, verifiesClients } from './server-contexts.ts';
import { sessionIdContextFor, TICKET_KEY_BYTES, ticketKeysFor } from './ticket-keys.ts';

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
  /** Client CA, when the identity was opened without a CA bundle: a trust, which is followed, or PEM text, which stays as it is. */
  readonly ca?: SecureContextOptions['ca'] | Trust;
}

/** Sets a server's material now and at each change, for as long as the server listens. */
export function serve(
  follower: Follower<IdentityLabel, IdentityMaterial>,
  server: Server,
  { profile, ...given }: ServeOptions,
  served: Set<Beside>,
): void {
  // setSecureContext forgets every option it is not given, so the server's own options are read back from it.
  const base = { ...contextOptionsIn(server), ...contextOptionsIn(given) };
  const secret = base.ticketKeys ?? randomBytes(TICKET_KEY_BYTES);
  const trust = given.ca instanceof Object && SOURCE in given.ca ? given.ca : undefined;
  const ownCa =
    trust === undefined ? (given.ca ?? (server as Pick<SecureContextOptions, 'ca'>).ca) : undefined;
  const ownPems = partsOf(ownCa || undefined) as readonly (string | Uint8Array)[];
  mustVerify(trust, follower);
  const frozen = new FrozenTrust('ca of a server', ownPems, follower.options.clock);
  const contexts = new ServerContexts(server, follower, () => profile?.tlsOptions());
  const apply = () => {
    const { pems } = follower.loaded.value;
    const followedCa = pems.ca ?? trust?.[SOURCE].current().ca;
    const scope = followedCa ?? (ownPems.length === 0 ? undefined : ownPems.join('\n'));
    const useContexts = contexts.prepared();
    server.setSecureContext({
      ...base,
      ...profile?.tlsOptions(),
      ...pems,
      ca: followedCa ?? (ownCa as SecureContextOptions['ca']),
      ticketKeys: ticketKeysFor(secret, scope, profile?.hash),
      sessionIdContext: sessionIdContextFor(base.sessionIdContext, scope, profile?.hash),
    });
    useContexts();
  };
  const connections = new ServedConnections({
    clock: follower.options.clock,
    drainMs: follower.options.drainMs,
    anchors: () => follower.loaded.value.bundle?.certificates ?? trust?.[SOURCE].current().anchors,
    cut: (count) => follower.cut(count),
  });
  followConnections(server, connections);
  const taken = () => {
    follower.usage.taken(server, follower.loaded);
    trust?.[SOURCE].taken(server);
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
  const beside = (): readonly StatusSource[] | undefined => {
    const others = contexts.shown();
    if (others === undefined || !verifiesClients(server)) return others;
    if (trust !== undefined) return [trust, ...others];
    return ownPems.length === 0 || follower.loaded.value.pems.ca !== undefined ? others : [frozen, ...others];
  };
  const follow = () => {
    served.add(beside);
    return [
      () => void served.delete(beside),
      follower.onSwap(applyOrKeep(follower)),
      ...(trust === undefined ? [] : [trust[SOURCE].onSwap(applyOrKeep(trust[SOURCE]))]),
      ...(profile === undefined ? [] : [profile.onSwap(applyOrKeep(profile))]),
    ];
  };
  apply();
  taken();
  let off = follow();
  server.on('close', () => {
    for (const unsubscribe of off.splice(0)) unsubscribe();
    follower.usage.gone(server);
    trust?.[SOURCE].gone(server);
    profile?.gone(server);
  });
  // A server that was closed may listen again, with what it took last when it refuses the newest.
  server.on('listening', () => {
    if (off.length > 0) return;
    off = follow();
    applyOrKeep(follower, trust?.[SOURCE], profile)();
  });
}

/** What a server uses beside the identity; undefined: that cannot be said. */
export type Beside = () => readonly StatusSource[] | undefined;

function mustVerify(trust: Trust | undefined, { loaded }: Follower<IdentityLabel, IdentityMaterial>): void {
  if (trust === undefined) return;
  if (!trust[SOURCE].verify)
    throw new RuntimeError(
      'OPTION_INVALID',
      'serve: ca must be a Trust that verifies, and was opened with verify: false',
    );
  if (loaded.value.pems.ca !== undefined)
    throw new RuntimeError(
      'OPTION_INVALID',
      'serve: the identity was opened with ca; open it without, or leave out ca here',
    );
}
