import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Clock, isUnknownAuthority } from '@handover/material';
import type { buildConnector } from 'undici';
import { KubeError } from './error.ts';
import type { LiveTls } from './live-tls.ts';
import { connectSocks } from './socks.ts';

const CONNECT_MS = 10_000;

export interface ConnectorOptions {
  readonly server: URL;
  readonly tls: LiveTls;
  readonly verify: boolean;
  readonly clock: Clock;
  readonly serverName?: string | undefined;
  readonly proxy?: URL | undefined;
  readonly connected: (socket: Socket) => void;
  /** Milliseconds for the TCP connection, the proxy and the handshake together. Default 10,000. */
  readonly timeout?: number | undefined;
}

const portOf = (url: URL, fallback: number): number => Number(url.port || fallback);
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** Errors after the first one have no listener, and must not end the process. */
const deafen = (socket: Socket) => socket.on('error', () => undefined);

function plain(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectPlain({ host, port, noDelay: true });
    const stop = () => socket.destroy(signal.reason as Error);
    const failed = (error: Error) => {
      signal.removeEventListener('abort', stop);
      deafen(socket);
      reject(error);
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.once('error', failed).once('connect', () => {
      signal.removeEventListener('abort', stop);
      socket.off('error', failed);
      resolve(socket);
    });
  });
}

function viaHttp(proxy: URL, target: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secure = proxy.protocol === 'https:';
    const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    const asking = (secure ? httpsRequest : httpRequest)({
      host: hostOf(proxy),
      port: portOf(proxy, secure ? 443 : 80),
      method: 'CONNECT',
      path: target,
      agent: false,
      signal,
      headers: {
        host: target,
        ...(proxy.username === ''
          ? {}
          : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
    });
    asking.on('error', reject);
    asking.once('connect', (answer, socket) => {
      if (answer.statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      const { host } = proxy;
      const words = `the proxy ${host} answered HTTP ${answer.statusCode}; check proxy-url`;
      reject(new KubeError('KUBE_PROXY_REFUSED', words, { retry: 'later', path: host }));
    });
    asking.once('response', (answer) => {
      answer.destroy();
      const words = `${proxy.host} is not a proxy: it answered HTTP ${answer.statusCode} to CONNECT; check proxy-url`;
      reject(new KubeError('KUBE_PROXY_REFUSED', words, { path: proxy.host }));
    });
    asking.end();
  });
}

function handshake(socket: Socket, options: ConnectorOptions, signal: AbortSignal): Promise<TLSSocket> {
  const host = hostOf(options.server);
  return new Promise((resolve, reject) => {
    const tls = connectTls({
      socket,
      host,
      servername: options.serverName ?? (isIP(host) === 0 ? host : ''),
      secureContext: options.tls.current.context,
      ALPNProtocols: ['http/1.1'],
      ...(options.verify ? {} : { rejectUnauthorized: false }),
    });
    const failed = (error: Error) => {
      settle();
      deafen(tls);
      deafen(socket).destroy();
      reject(error);
    };
    const closed = () =>
      failed(Object.assign(new Error('closed before the handshake ended'), { code: 'ECONNRESET' }));
    const stop = () => tls.destroy(signal.reason as Error);
    const settle = () => {
      signal.removeEventListener('abort', stop);
      tls.off('secureConnect', ready).off('error', failed).off('close', closed);
    };
    const ready = () => {
      settle();
      resolve(tls);
    };
    tls.on('secureConnect', ready).on('error', failed).on('close', closed);
    signal.addEventListener('abort', stop, { once: true });
  });
}

async function reach({ server, proxy }: ConnectorOptions, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(server);
  const port = portOf(server, server.protocol === 'https:' ? 443 : 80);
  if (proxy === undefined) return plain(host, port, signal);
  if (!proxy.protocol.startsWith('socks5')) return viaHttp(proxy, `${server.hostname}:${port}`, signal);
  const socket = await plain(hostOf(proxy), portOf(proxy, 1080), signal);
  return connectSocks(socket, { host, port, proxy }, signal);
}

async function once(options: ConnectorOptions, signal: AbortSignal): Promise<Socket> {
  const socket = await reach(options, signal);
  return options.server.protocol === 'https:' ? handshake(socket, options, signal) : socket;
}

/**
 * Connects with the newest material. When the CA of the server's certificate is unknown, reads the CA file again and retries the
 * handshake once: the server may have rotated before the file's event arrived.
 */
async function fresh(options: ConnectorOptions, signal: AbortSignal): Promise<Socket> {
  const { number } = options.tls.current;
  try {
    return await once(options, signal);
  } catch (error) {
    if (!isUnknownAuthority(error) || !(await options.tls.refresh(number))) throw error;
    return once(options, signal);
  }
}

export function connectorOf(options: ConnectorOptions): buildConnector.connector {
  return (_, done) => {
    const deadline = new AbortController();
    const timeout = options.timeout ?? CONNECT_MS;
    const late = () =>
      deadline.abort(Object.assign(new Error(`no connection within ${timeout} ms`), { code: 'ETIMEDOUT' }));
    const timer = options.clock.after(timeout, late);
    fresh(options, deadline.signal)
      .finally(() => timer.cancel())
      .then(
        (socket) => {
          socket.setNoDelay(true).setKeepAlive(true, 10_000);
          options.connected(socket);
          done(null, socket);
        },
        (error: Error) => done(error, null),
      );
  };
}
