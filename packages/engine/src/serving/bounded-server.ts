import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { hostname } from 'node:os';
import { EngineError } from '../error.ts';
import { isOwnHost } from './hosts.ts';

/** Open connections of one server. A kubelet and a few scrapers need fewer than ten. */
export const MOST_CONNECTIONS = 128;

const LIMITS = {
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  keepAliveTimeout: 5_000,
  // By default Node checks for late requests only every 30 s, and keeps them open that long.
  connectionsCheckingInterval: 1_000,
  // Room for the largest bearer tokens.
  maxHeaderSize: 16_384,
} as const;
/** Closes an idle connection, such as one whose client does not read the answer. */
const SILENCE_MS = 10_000;
const HANDSHAKE_MS = 5_000;

export interface PageAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface BoundedOptions {
  readonly host: string;
  readonly port: number;
  /** The flag that sets this address, for the error when it is in use. */
  readonly flag: string;
  /** Answers a GET or HEAD request for this path. */
  readonly answer: (path: string, request: IncomingMessage) => PageAnswer | Promise<PageAnswer>;
  /** Gives the server its certificate; with it the server uses TLS. */
  readonly secure?: ((server: TlsServer) => void) | undefined;
}

export interface BoundedServer {
  readonly url: string;
  readonly port: number;
  /** Connections open now. */
  readonly connections: number;
  close(): Promise<void>;
}

const text = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): PageAnswer => ({
  status,
  body,
  headers,
});

export const NO_SUCH_PAGE: PageAnswer = text(404, 'no such page\n');

/**
 * A small HTTP server for probes and scrapers: only GET and HEAD, only for its own addresses and names, every resource bounded.
 * A connection beyond the limit replaces the oldest one: connections held open on purpose cannot lock probes out.
 */
export async function serveBounded(options: BoundedOptions): Promise<BoundedServer> {
  const { host, port, flag, secure } = options;
  const names = [host, hostname()].map((name) => name.toLowerCase());
  const listener: RequestListener = (request, response) => {
    void answerTo(request, names, options.answer).then(({ status, body, headers }) => {
      response.writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        ...headers,
      });
      response.end(request.method === 'HEAD' ? undefined : body);
    });
  };
  const server = secure === undefined ? createServer(LIMITS, listener) : tlsServer(secure, listener);
  server.timeout = SILENCE_MS;
  const open = keepNewest(server);
  await listening(server, host, port, flag);
  const { address, family, port: chosen } = server.address() as AddressInfo;
  return {
    url: `${secure === undefined ? 'http' : 'https'}://${family === 'IPv6' ? `[${address}]` : address}:${chosen}`,
    port: chosen,
    get connections() {
      return open.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // Includes connections in the middle of a TLS handshake, which the server does not count.
        for (const socket of open) socket.destroy();
      }),
  };
}

const tlsServer = (secure: (server: TlsServer) => void, listener: RequestListener): TlsServer => {
  const server = createTlsServer(
    { ...LIMITS, handshakeTimeout: HANDSHAKE_MS, minVersion: 'TLSv1.2' },
    listener,
  );
  secure(server);
  return server;
};

const answerTo = async (
  request: IncomingMessage,
  names: readonly string[],
  answer: BoundedOptions['answer'],
): Promise<PageAnswer> => {
  if (!isOwnHost(request.headers.host, names))
    return text(421, 'unknown Host header; use an IP address or NAME.NAMESPACE.svc\n');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return text(405, 'method not allowed; use GET or HEAD\n', { allow: 'GET, HEAD' });
  try {
    return await answer((request.url ?? '').split('?', 1)[0] ?? '', request);
  } catch {
    // The error may hold secret material: the caller does not get it.
    return text(500, 'this page failed; try again later\n');
  }
};

const keepNewest = (server: Server | TlsServer): ReadonlySet<Socket> => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= MOST_CONNECTIONS) return;
    const [oldest] = open;
    oldest?.destroy();
  });
  return open;
};

const listening = (server: Server | TlsServer, host: string, port: number, flag: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new EngineError(
          'ADDRESS_UNUSABLE',
          `cannot listen on ${host}:${port} (${cause.code}); choose another ${flag}`,
          { cause },
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
