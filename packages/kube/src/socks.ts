import { isIPv4, type Socket } from 'node:net';
import type { HandoverError } from '@handover/material';
import { KubeError } from './error.ts';

interface SocksTarget {
  readonly host: string;
  readonly port: number;
  readonly proxy: URL;
}

const refused = (proxy: URL, why: string): HandoverError =>
  new KubeError('KUBE_PROXY_REFUSED', `the proxy ${proxy.host} ${why}; check proxy-url`, {
    retry: 'later',
    path: proxy.host,
  });

/** Reads exactly `length` bytes: the bytes after them belong to the next reader. */
function take(socket: Socket, length: number, proxy: URL): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = () => socket.off('readable', look).off('error', failed).off('close', closed);
    const failed = (error: Error) => {
      settle();
      reject(error);
    };
    const closed = () => failed(refused(proxy, 'closed the connection'));
    const look = () => {
      const bytes = socket.read(length) as Buffer | null;
      if (bytes === null) return;
      settle();
      resolve(bytes);
    };
    socket.on('readable', look).on('error', failed).on('close', closed);
    look();
  });
}

const sized = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
};

/** SOCKS 5 with or without a password (RFC 1928, RFC 1929). The proxy resolves the name. */
export async function connectSocks(
  socket: Socket,
  { host, port, proxy }: SocksTarget,
  signal: AbortSignal,
): Promise<Socket> {
  const stop = () => socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const method = proxy.username === '' ? 0 : 2;
    socket.write(Buffer.from([5, 1, method]));
    if ((await take(socket, 2, proxy))[1] !== method)
      throw refused(proxy, 'requires another authentication method');
    if (method === 2) {
      const login = [proxy.username, proxy.password].map((part) => sized(decodeURIComponent(part)));
      socket.write(Buffer.concat([Buffer.from([1]), ...login]));
      if ((await take(socket, 2, proxy))[1] !== 0) throw refused(proxy, 'refuses the user name or password');
    }
    const address = isIPv4(host)
      ? Buffer.from([1, ...host.split('.').map(Number)])
      : Buffer.concat([Buffer.from([3]), sized(host)]);
    socket.write(Buffer.concat([Buffer.from([5, 1, 0]), address, Buffer.from([port >> 8, port & 0xff])]));
    const head = await take(socket, 4, proxy);
    if (head[1] !== 0) throw refused(proxy, `cannot reach the API server (SOCKS ${head[1]})`);
    const rest = head[3] === 1 ? 4 : head[3] === 4 ? 16 : ((await take(socket, 1, proxy))[0] ?? 0);
    await take(socket, rest + 2, proxy);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
