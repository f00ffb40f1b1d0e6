import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js';
import { type ClientSource, SOURCE } from './client-source.ts';
import { combine } from './combine.ts';
import { withFreshTrust } from './fresh-trust.ts';
import type { Identity } from './identity.ts';
import { TICKET_KEY_BYTES, ticketKeysFor } from './ticket-keys.ts';
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

  constructor(source: ClientSource) {
    this.#source = source;
    source.onSwap(() => {
      for (const [socket, loads] of this.#live) this.#retire(socket, loads);
    });
  }

  add(socket: Socket, loads: number): void {
    this.#live.set(socket, loads);
    socket.once('close', () => this.#live.delete(socket));
    // grpc-js makes the HTTP/2 session after this call; a swap in between must not be lost.
    setImmediate(() => this.#retire(socket, loads));
  }

  /**
   * Acts on grpc-js like a server's GOAWAY: calls under way finish, the next call connects anew. When no session is found
   * (a newer Node), the connection serves until the deadline.
   */
  #retire(socket: Socket, loads: number): void {
    if (loads === this.#source.current().loads || !this.#live.has(socket)) return;
    this.#live.delete(socket);
    sessionOn(socket)?.emit('goaway', 0, 0, Buffer.alloc(0));
    const deadline = setTimeout(() => socket.destroy(), this.#source.drainMs).unref();
    socket.once('close', () => clearTimeout(deadline));
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
    const verifyOptions = this.#source.verify ? {} : { rejectUnauthorized: false };
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
        return withFreshTrust(this.#source, async (material) => {
          if (!first && (proxied || host === undefined || port === undefined)) {
            throw new Error('unknown authority; the next attempt uses the trust just loaded');
          }
          const tcp = first ? socket : await reconnect(host ?? '', port ?? 0);
          first = false;
          const result = await inner(material).connect(tcp);
          this.#connections.add(result.socket, material.loads);
          return result;
        });
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

/** Options of {@link serverCredentials}. */
export interface ServerCredentialsOptions {
  /** Versions, ciphers and groups follow this profile. */
  readonly profile?: TlsProfile;
  /** Whether a client must show a certificate of the identity's `ca`. Default: true when the identity has a `ca`. */
  readonly requireClientCertificate?: boolean;
}

class HotServerCredentials extends ServerCredentials {
  constructor(source: ClientSource, { profile, requireClientCertificate }: ServerCredentialsOptions) {
    const secret = randomBytes(TICKET_KEY_BYTES);
    const contextOptions = (): SecureContextOptions => {
      const { ca, cert, key } = source.current();
      return {
        ...profile?.tlsOptions(),
        ca,
        cert,
        key,
        ticketKeys: ticketKeysFor(secret, ca),
      };
    };
    const required = requireClientCertificate ?? source.current().ca !== undefined;
    super({ requestCert: required, rejectUnauthorized: required }, contextOptions());
    const update = () => this.updateSecureContextOptions(contextOptions());
    source.onSwap(update);
    profile?.onSwap(update);
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
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
  return new HotServerCredentials(identity[SOURCE], options);
}
