import { isIP } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { ContextOptions, TlsMaterial } from './client-source.ts';

/** The default of undici's connector. */
const CONNECT_MS = 10_000;
const MAX_SESSIONS = 100;

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly servername?: string | undefined;
}

export interface ConnectTlsOptions {
  readonly contextOptions?: ContextOptions | undefined;
  readonly rejectUnauthorized?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** Further options of `tls.connect`. */
  readonly tls?: ConnectionOptions | undefined;
}

/** Finishes a handshake or fails; never returns a socket that may still fail to connect. */
export function connectTls(
  material: TlsMaterial,
  { host, port, servername }: Target,
  options: ConnectTlsOptions = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const { sessions } = material;
    const name = servername ?? (isIP(host) === 0 ? host : '');
    const key = `${host} ${port} ${name}`;
    const session = sessions.get(key);
    const socket = connect({
      ...options.tls,
      host,
      port,
      servername: name,
      secureContext: material.context(options.contextOptions),
      ...(session === undefined ? {} : { session }),
      ...(options.rejectUnauthorized === false ? { rejectUnauthorized: false } : {}),
    });
    socket.on('session', (fresh) => {
      if (sessions.size >= MAX_SESSIONS) sessions.clear();
      sessions.set(key, fresh);
    });
    const timeoutMs = options.timeoutMs ?? CONNECT_MS;
    const timer = setTimeout(() => {
      socket.destroy(
        Object.assign(new Error(`no connection to ${host}:${port} within ${timeoutMs} ms`), {
          code: 'ETIMEDOUT',
        }),
      );
    }, timeoutMs);
    const failed = (error: Error) => {
      sessions.delete(key);
      settle();
      reject(error);
    };
    const closed = () =>
      failed(
        Object.assign(new Error('connection closed before the handshake ended'), { code: 'ECONNRESET' }),
      );
    const connected = () => {
      settle();
      resolve(socket);
    };
    const settle = () => {
      clearTimeout(timer);
      socket.off('secureConnect', connected).off('error', failed).off('close', closed);
    };
    socket.on('secureConnect', connected).on('error', failed).on('close', closed);
  });
}
