import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTlsServer, type Server, type TLSSocket } from 'node:tls';

export const hello = (socket: TLSSocket) => {
  socket.on('error', () => undefined);
  socket.write('!');
};

/** Every kind of server speaks first, so that a client can read a byte. */
export const KINDS: readonly [string, (options: object) => Server][] = [
  ['tls', (options) => createTlsServer(options, hello)],
  ['https', (options) => createHttpsServer(options).on('secureConnection', hello)],
  ['http2', (options) => createSecureServer({ ...options, allowHTTP1: true }).on('secureConnection', hello)],
];
