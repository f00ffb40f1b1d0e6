import { once } from 'node:events';
import {
  createServer as createHttpsServer,
  type Server as HttpsServer,
  request as httpsRequest,
} from 'node:https';
import type { AddressInfo } from 'node:net';
import { type ConnectionOptions, connect, type Server, type TLSSocket } from 'node:tls';
import type { Leaf, MockCa } from './mock-ca.ts';

export interface Listening<S extends Server = HttpsServer> {
  readonly server: S;
  readonly port: number;
  readonly url: string;
  /** Connections whose handshake ended well. */
  readonly handshakes: () => number;
  use(leaf: Leaf): void;
  close(): Promise<void>;
}

export async function listen<S extends Server>(server: S): Promise<Listening<S>> {
  const sockets = new Set<TLSSocket>();
  let handshakes = 0;
  server.on('secureConnection', (socket: TLSSocket) => {
    handshakes++;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    url: `https://localhost:${port}`,
    handshakes: () => handshakes,
    use: ({ cert, key }) => server.setSecureContext({ cert, key }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Answers every request with its serial number on this server; `/stream` sends a line every 5 ms until told to end. */
export async function httpsServer(
  ca: MockCa,
  options: object = {},
): Promise<Listening & { endStreams(): void }> {
  let requests = 0;
  const streams = new Set<() => void>();
  const server = createHttpsServer({ ...ca.leaf(), ...options }, (request, response) => {
    if (request.url !== '/stream') {
      response.end(`${++requests} ${request.headers.authorization ?? ''}`.trim());
      return;
    }
    let line = 0;
    const timer = setInterval(() => response.write(`${++line}\n`), 5);
    const end = () => {
      clearInterval(timer);
      streams.delete(end);
      response.end('end\n');
    };
    streams.add(end);
    response.on('close', () => clearInterval(timer));
  });
  const listening = await listen(server);
  return {
    ...listening,
    endStreams: () => {
      for (const end of [...streams]) end();
    },
  };
}

/** Reads the whole body: a handshake alone proves nothing on TLS 1.3. */
export function get(
  url: string,
  options: object,
): Promise<{ body: string; socket: TLSSocket; reused: boolean }> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, options, (response) => {
      const socket = response.socket as TLSSocket;
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk) => {
          body += chunk;
        })
        .on('end', () => resolve({ body, socket, reused: request.reusedSocket }))
        .on('error', reject);
    });
    request.on('error', reject).end();
  });
}

/** Connects and waits for a byte, or for the end: what the server really thought of us. */
export function readByte(options: ConnectionOptions): Promise<{ socket: TLSSocket; resumed: boolean }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', servername: 'localhost', ...options });
    socket.once('data', () => {
      resolve({ socket, resumed: socket.isSessionReused() });
      socket.end();
    });
    socket.once('error', reject);
    socket.once('close', () =>
      reject(Object.assign(new Error('closed without a byte'), { code: 'NO_BYTE' })),
    );
  });
}

/** Resolves when the check holds; the test's own timeout is the bound. */
export async function eventually(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((tick) => setTimeout(tick, 5));
}

export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: { code?: string; cause?: { code?: string } }) => error.cause?.code ?? error.code ?? String(error),
  );
