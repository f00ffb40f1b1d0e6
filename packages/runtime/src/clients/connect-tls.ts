import { isIP } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { Clock } from '@handover/material';
import type { ContextOptions, TlsMaterial } from './client-source.ts';

/** The default of undici's connector. */
const CONNECT_MS = 10_000;

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly servername?: string | undefined;
}

export interface ConnectTlsOptions {
  readonly clock: Clock;
  readonly contextOptions?: ContextOptions | undefined;
  readonly rejectUnauthorized?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** Further options of `tls.connect`. */
  readonly tls?: ConnectionOptions | undefined;
}

/** Resolves when the handshake is done; never with a socket that may still fail to connect. */
export const finished = (socket: TLSSocket): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const settle = () => socket.off('secureConnect', connected).off('error', failed).off('close', closed);
    const connected = () => {
      settle();
      resolve(socket);
    };
    const failed = (error: Error) => {
      settle();
      reject(error);
    };
    const closed = () =>
      failed(
        Object.assign(new Error('connection closed before the handshake ended'), { code: 'ECONNRESET' }),
      );
    socket.on('secureConnect', connected).on('error', failed).on('close', closed);
  });

/** Connects with the given material. */
export async function connectTls(
  material: TlsMaterial,
  { host, port, servername }: Target,
  options: ConnectTlsOptions,
): Promise<TLSSocket> {
  const { sessions } = material;
  const name = servername ?? (isIP(host) === 0 ? host : '');
  const key = `${host} ${port} ${name}`;
  const session = sessions.of(key);
  const socket = connect({
    ...options.tls,
    host,
    port,
    servername: name,
    secureContext: material.context(options.contextOptions),
    ...(session === undefined ? {} : { session }),
    rejectUnauthorized: options.rejectUnauthorized !== false, // not as NODE_TLS_REJECT_UNAUTHORIZED says
  });
  sessions.follow(socket, key);
  const timeoutMs = options.timeoutMs ?? CONNECT_MS;
  const timer = options.clock.after(timeoutMs, () => {
    const error = new Error(`no connection to ${host}:${port} within ${timeoutMs} ms`);
    socket.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
  });
  try {
    return await finished(socket);
  } finally {
    timer.cancel();
  }
}
