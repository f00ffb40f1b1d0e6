import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@handover/material';
import { FILES } from '#page-files';
import type { Board } from './board.ts';
import { DashboardError } from './error.ts';
import { mayAsk } from './hosts.ts';
import { Stream } from './stream.ts';

export interface DashboardOptions {
  readonly board: Board;
  readonly clock: Clock;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0: any free port. */
  readonly port: number;
  /** The option to name when the address cannot be used. */
  readonly option?: string;
}

export interface Dashboard {
  readonly url: string;
  readonly port: number;
  /** Pages that are open. */
  readonly viewers: number;
  close(): Promise<void>;
}

const MOST_STREAMS = 32;

/** Only our own files, nothing inline, no frames, and no string becomes code. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CSP,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const;

interface File {
  readonly type: string;
  readonly body: string;
  readonly tag: string;
}

const files: ReadonlyMap<string, File> = new Map(
  Object.entries(FILES).map(([path, { type, body }]) => {
    const tag = `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;
    return [path, { type, body, tag }];
  }),
);

const plain = (
  response: ServerResponse,
  status: number,
  text: string,
  more: Record<string, string> = {},
): void => {
  response.writeHead(status, {
    ...HEADERS,
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    ...more,
  });
  response.end(`${text}\n`);
};

const sendFile = (request: IncomingMessage, response: ServerResponse, { type, body, tag }: File): void => {
  const headers = { ...HEADERS, 'content-type': type, 'cache-control': 'no-cache', etag: tag };
  if (request.headers['if-none-match'] === tag) return void response.writeHead(304, headers).end();
  response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(request.method === 'HEAD' ? undefined : body);
};

/** Serves the page and its data. It answers only GET and HEAD, and changes nothing. */
export async function serveDashboard({
  board,
  clock,
  host = '127.0.0.1',
  port,
  option = '--dashboard-address',
}: DashboardOptions): Promise<Dashboard> {
  const streams = new Set<Stream>();
  const follow = (request: IncomingMessage, response: ServerResponse): void => {
    if (streams.size >= MOST_STREAMS)
      return void plain(response, 503, 'too many pages are open; close one', { 'retry-after': '10' });
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    if (request.method === 'HEAD') return void response.end();
    const stream: Stream = new Stream(board, response, clock, () => streams.delete(stream));
    streams.add(stream);
    stream.start();
  };
  const status = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.stringify(await board.document());
    response.writeHead(200, {
      ...HEADERS,
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(body),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
  const server = createServer(
    { requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 16_384 },
    (request, response) => {
      if (!mayAsk(request.headers.host, host))
        return plain(
          response,
          421,
          'open this page by its IP address, such as http://127.0.0.1, not by a name',
        );
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return plain(response, 405, 'this page is read-only; use GET', { allow: 'GET, HEAD' });
      const [path = ''] = (request.url ?? '').split('?', 1);
      const file = files.get(path);
      if (file !== undefined) return sendFile(request, response, file);
      if (path === '/api/events') return follow(request, response);
      if (path !== '/api/status') return plain(response, 404, 'no such page; start at /');
      status(request, response).catch(() =>
        response.headersSent ? response.destroy() : plain(response, 500, 'see the log'),
      );
    },
  );
  server.maxConnections = 256;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new DashboardError(
          'PORT_TAKEN',
          `port ${port} cannot be used (${cause.code}); choose another with ${option}`,
          {
            cause,
          },
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
  const { port: listening } = server.address() as AddressInfo;
  const shown =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shown}:${listening}/`,
    port: listening,
    get viewers() {
      return streams.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const stream of streams) stream.close();
        server.closeAllConnections();
      }),
  };
}
