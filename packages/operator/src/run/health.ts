import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HandoverError } from '@handover/material';

export interface Health {
  readonly port: number;
  close(): Promise<void>;
}

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  /** What is not ready yet, in words; empty: everything is. */
  readonly waitingFor: () => readonly string[];
  /** What `/metrics` answers; undefined: there is no such page. */
  readonly metrics?: (() => Promise<MetricsPage>) | undefined;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

/** `/livez`: this process answers. `/readyz`: it has seen, and put right, everything once. `/metrics`: what is counted. */
export async function serveHealth({ host, port, waitingFor, metrics }: HealthOptions): Promise<Health> {
  const server: Server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000 },
    (request, response) => {
      const [path] = (request.url ?? '').split('?', 1);
      if (path === '/metrics' && metrics !== undefined) {
        void metrics().then(
          ({ contentType, body }) => {
            response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' });
            response.end(body);
          },
          () => response.writeHead(500).end(),
        );
        return;
      }
      const missing = path === '/readyz' ? waitingFor() : [];
      const known = path === '/livez' || path === '/readyz';
      const status = !known ? 404 : missing.length > 0 ? 503 : 200;
      response.writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
      });
      response.end(
        !known
          ? 'no such page\n'
          : missing.length > 0
            ? `not ready: ${missing.slice(0, 5).join('; ')}\n`
            : 'ok\n',
      );
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new HandoverError(
          'ADDRESS_UNUSABLE',
          `${host}:${port} cannot be listened on (${cause.code}); choose another --health-address`,
          { cause },
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
