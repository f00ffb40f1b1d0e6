import { once } from 'node:events';
import {
  createServer as createHttpsServer,
  type Server as HttpsServer,
  request as httpsRequest,
} from 'node:https';
import type { AddressInfo } from 'node:net';
import { type ConnectionOptions, connect, type Server, type TLSSocket } from 'node:tls';
import type { Leaf, MockCa } from './mock-ca.ts';

/** A server that tests can move from one CA to another. */
export interface Target {
  readonly port: number;
  readonly url: string;
  /** Handshakes that ended well. */
  handshakes(): number;
  use(leaf: Leaf): void;
  /** Cuts all connections; the next request has to connect anew. */
  cut(): void;
  /** Streams under way get their last line. */
  endStreams(): void;
  close(): Promise<void>;
}

export async function listen<S extends Server>(
  server: S,
): Promise<Omit<Target, 'endStreams'> & { server: S }> {
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
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    server,
    port,
    url: `https://localhost:${port}`,
    handshakes: () => handshakes,
    use: ({ cert, key }) => server.setSecureContext({ cert, key }),
    cut,
    close: async () => {
      cut();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Answers like an API server: a list, or with `watch` in the URL one event every 5 ms until the streams are ended. */
export async function httpsServer(
  ca: MockCa,
  options: object = {},
): Promise<Target & { server: HttpsServer; seen: string[] }> {
  const streams = new Set<() => void>();
  const seen: string[] = [];
  const server = createHttpsServer({ ...ca.leaf(), ...options }, (request, response) => {
    seen.push(request.headers.authorization ?? '');
    response.setHeader('content-type', 'application/json');
    if (!request.url?.includes('watch')) {
      response.end('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}');
      return;
    }
    const event = (type: string) => `${JSON.stringify({ type, object: {} })}\n`;
    const timer = setInterval(() => response.write(event('MODIFIED')), 5);
    const end = () => {
      clearInterval(timer);
      streams.delete(end);
      response.end(event('END'));
    };
    streams.add(end);
    response.on('close', () => clearInterval(timer));
  });
  return {
    ...(await listen(server)),
    seen,
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

/** Connects and waits for a byte, or for the end: what the server really thought of us. `by` is another `tls.connect`. */
export function readByte(
  options: ConnectionOptions,
  by: (options: ConnectionOptions) => TLSSocket = connect,
): Promise<{ resumed: boolean; session: Buffer | undefined }> {
  return new Promise((resolve, reject) => {
    const socket = by({ host: '127.0.0.1', servername: 'localhost', ...options });
    let session: Buffer | undefined;
    socket.on('session', (fresh) => {
      session = fresh;
    });
    let byte = false;
    let resumed = false;
    socket.once('data', () => {
      byte = true;
      resumed = socket.isSessionReused();
      socket.end();
    });
    socket.once('error', reject);
    socket.once('close', () =>
      byte
        ? resolve({ resumed, session })
        : reject(Object.assign(new Error('closed without a byte'), { code: 'NO_BYTE' })),
    );
  });
}

/** Resolves when the check holds. The bound only ends a test that has failed; it is no measure of speed. */
export async function eventually(check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`never came true: ${check}`);
    await new Promise((tick) => setTimeout(tick, 5));
  }
}

export const ok = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  );

/** Everything an error and its causes have to say, or `no error`. */
export const wordsOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: unknown) => {
      let words = '';
      for (let at = error as Error | undefined; at !== undefined && at !== null; at = at.cause as Error) {
        words += ` ${(at as { code?: string }).code ?? ''} ${at.message ?? at}`;
      }
      return words;
    },
  );

/** The error of a client that does not know the CA. */
export const UNKNOWN_AUTHORITY = /unable to verify|issuer|self.signed/i;
