import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ClientHttp2Session, Http2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import {
  ChannelCredentials,
  ServerCredentials,
  type ServerInterceptingCall,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { type ClientSource, SOURCE, type TlsMaterial } from './clients/client-source.ts';
import { combine } from './clients/combine.ts';
import { Drain } from './clients/drain.ts';
import { withFreshTrust } from './clients/fresh-trust.ts';
import type { Identity } from './identity.ts';
import { refuseOn } from './only-node.ts';
import { ServedConnections, sessionServed } from './servers/serve-drain.ts';
import { TICKET_KEY_BYTES, ticketKeysFor } from './servers/ticket-keys.ts';
import type { TlsProfile } from './tls-profile.ts';
import type { Trust } from './trust.ts';

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type ConnectorArguments = Parameters<ChannelCredentials['_createSecureConnector']>;

const isSession = (value: unknown): value is ClientHttp2Session =>
  typeof value === 'object' && value !== null && 'goaway' in value && 'request' in value && 'close' in value;

/** Node keeps the session in an undocumented property of its socket, so it is found by its methods. */
const sessionOn = (socket: Socket): ClientHttp2Session | undefined =>
  Reflect.ownKeys(socket)
    .map((key) => Reflect.get(socket, key) as unknown)
    .find(isSession);

/** Live connections. A swap retires those made with older material. */
class Connections {
  readonly #live = new Map<Socket, number>();
  readonly #source: ClientSource;
  readonly #drain: Drain;

  constructor(source: ClientSource) {
    this.#source = source;
    this.#drain = new Drain(source);
    source.onSwap(() => {
      for (const [socket, loads] of this.#live) this.#retire(socket, loads);
      this.#drain.swapped();
    });
  }

  add(socket: Socket, loads: number): void {
    if (socket instanceof TLSSocket) this.#drain.add(socket, loads);
    this.#live.set(socket, loads);
    socket.once('close', () => this.#live.delete(socket));
    // grpc-js makes the HTTP/2 session after this call; a swap in between must not be lost.
    setImmediate(() => this.#retire(socket, loads));
  }

  /**
   * Acts on grpc-js like a server's GOAWAY: calls under way finish, the next call makes a new connection. grpc-js listens for one only when it has the server's
   * settings. When no session is found (a newer Node), the connection serves on.
   */
  #retire(socket: Socket, loads: number): void {
    if (loads === this.#source.current().loads || !this.#live.has(socket)) return;
    this.#live.delete(socket);
    const session = sessionOn(socket);
    const leave = (): void => void session?.emit('goaway', 0, 0, Buffer.alloc(0));
    if (session === undefined || session.listenerCount('goaway') > 0) leave();
    else session.once('remoteSettings', () => setImmediate(leave));
  }
}

class HotChannelCredentials extends ChannelCredentials {
  readonly #source: ClientSource;
  readonly #connections: Connections;

  constructor(source: ClientSource) {
    super();
    this.#source = source;
    this.#connections = new Connections(source);
  }

  override _isSecure(): boolean {
    return true;
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(...args: ConnectorArguments): Connector {
    const [target, options, callCredentials] = args;
    const verifyOptions = { rejectUnauthorized: this.#source.verify };
    // The connector of grpc-js itself, made with the newest context for each connection.
    const inner = (material = this.#source.current()): Connector =>
      ChannelCredentials.createFromSecureContext(material.context(), verifyOptions)._createSecureConnector(
        target,
        options,
        callCredentials,
      );
    const calls = inner().getCallCredentials();
    const proxied = 'grpc.http_connect_target' in options;
    return {
      connect: (socket) => {
        const { remoteAddress: host, remotePort: port } = socket;
        let first = true;
        const isOnlyOne = proxied || host === undefined || port === undefined;
        const connecting = async (material: TlsMaterial) => {
          if (!first && isOnlyOne)
            throw new Error('unknown authority; the next attempt uses the trust just loaded');
          const tcp = first ? socket : await reconnect(host ?? '', port ?? 0);
          first = false;
          const result = await inner(material).connect(tcp);
          this.#connections.add(result.socket, material.loads);
          return result;
        };
        const discard = (result: { readonly socket: Socket }): void => void result.socket.destroy();
        return withFreshTrust(this.#source, connecting, isOnlyOne ? undefined : discard);
      },
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => calls,
      destroy: () => undefined,
    };
  }
}

async function reconnect(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/**
 * Channel credentials. New connections of a channel use the newest material, also after the channel was made.
 *
 * @example
 * ```ts
 * import { Client } from '@grpc/grpc-js';
 * import { credentials } from '@handover/runtime/grpc';
 *
 * const client = new Client('billing.mesh.svc:443', credentials(trust));
 * client.waitForReady(Date.now() + 10_000, (error) => console.log(error?.message ?? 'ready')); // ready
 * ```
 */
export function credentials(trust: Trust | Identity, identity?: Identity): ChannelCredentials {
  const source = trust[SOURCE];
  return new HotChannelCredentials(identity === undefined ? source : combine(source, identity[SOURCE]));
}

/**
 * Options of {@link serverCredentials}.
 *
 * @example
 * ```ts
 * import { Server } from '@grpc/grpc-js';
 * import { type ServerCredentialsOptions, serverCredentials } from '@handover/runtime/grpc';
 *
 * const options: ServerCredentialsOptions = { profile, requireClientCertificate: false };
 * const server = new Server();
 * server.bindAsync('0.0.0.0:8443', serverCredentials(identity, options), (error) => console.log(error ?? 'bound')); // bound
 * ```
 */
export interface ServerCredentialsOptions {
  /** Versions, ciphers and groups follow this profile. */
  readonly profile?: TlsProfile | undefined;
  /** Whether a client must show a certificate of the identity's `ca`. Default: true when the identity has a `ca`. */
  readonly requireClientCertificate?: boolean | undefined;
}

class HotServerCredentials extends ServerCredentials {
  readonly #connections: ServedConnections;
  readonly #known = new WeakSet<object>();

  constructor(source: ClientSource, { profile, requireClientCertificate }: ServerCredentialsOptions) {
    const secret = randomBytes(TICKET_KEY_BYTES);
    const contextOptions = (): SecureContextOptions => {
      const { ca, cert, key } = source.current();
      return {
        ...profile?.tlsOptions(),
        ca,
        cert,
        key,
        ticketKeys: ticketKeysFor(secret, ca, profile?.hash),
      };
    };
    const required = requireClientCertificate ?? source.current().ca !== undefined;
    super({ requestCert: required, rejectUnauthorized: required }, contextOptions());
    this.#connections = new ServedConnections({
      clock: source.clock,
      drainMs: source.drainMs,
      anchors: () => source.current().anchors,
      cut: (count) => source.cut(count),
    });
    const taken = () => {
      source.taken(this);
      profile?.taken(this);
    };
    /** What has changed is not in use when no context can be made of it; the rest still is. */
    const updateOrKeep = (changed: Pick<ClientSource, 'complain'>) => () => {
      try {
        const options = contextOptions();
        // grpc-js drops every connection after it was given options of which it can make no context, and says so in its log alone.
        createSecureContext(options);
        this.updateSecureContextOptions(options);
        this.#connections.changed();
        taken();
      } catch (error) {
        changed.complain(error, this);
      }
    };
    taken();
    source.onSwap(updateOrKeep(source));
    if (profile !== undefined) profile.onSwap(updateOrKeep(profile));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  /** grpc-js keeps its HTTP/2 server to itself; each call leads to its session. */
  override _getInterceptors(): ServerInterceptor[] {
    return [
      (_method, call) => {
        const session = (call as unknown as { readonly stream?: Http2Stream }).stream?.session;
        if (session !== undefined && !this.#known.has(session)) {
          this.#known.add(session);
          const socket = session.socket as TLSSocket;
          if (socket.authorized && this.#connections.isLate(socket, 0)) {
            session.destroy();
          } else if (socket.authorized) {
            session.once('close', this.#connections.add(sessionServed(session)));
          }
        }
        return call as ServerInterceptingCall;
      },
    ];
  }
}

/**
 * Server credentials. Certificate, client CA and ticket keys follow the identity's files.
 *
 * @example
 * ```ts
 * import { Server } from '@grpc/grpc-js';
 * import { serverCredentials } from '@handover/runtime/grpc';
 *
 * const server = new Server();
 * server.bindAsync('0.0.0.0:8443', serverCredentials(identity), (error) => console.log(error ?? 'bound')); // bound
 * ```
 */
export function serverCredentials(
  identity: Identity,
  options: ServerCredentialsOptions = {},
): ServerCredentials {
  refuseOn(['bun'], 'serverCredentials()', 'run the server on Node'); // its servers keep their first certificate
  return new HotServerCredentials(identity[SOURCE], options);
}
